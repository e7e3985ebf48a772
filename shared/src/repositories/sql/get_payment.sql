-- One payment of one tenant.
--   $1 tenant   $2 payment id   $3 version of the signing key or null: internal
WITH caller AS (
    SELECT
      FROM tenants t
     WHERE t.id = $1
       AND ($3 IS NULL
            OR EXISTS (SELECT FROM signing_keys s
                        WHERE s.tenant_id = $1 AND s.version = $3 AND s.retired_at IS NULL))
)
SELECT 'found' AS result, id, tenant_id, account_id, from_default, recipient_id, amount, currency, status, created_at
  FROM payments
 WHERE id = $2
   AND tenant_id = $1
   AND EXISTS (SELECT FROM caller)
UNION ALL
SELECT 'unknown_caller', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
 WHERE NOT EXISTS (SELECT FROM caller)
