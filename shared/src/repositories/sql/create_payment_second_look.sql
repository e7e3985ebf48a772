-- The second look after a lost race, a repeated operation whose key was purged, or a wait that was cut short.
-- The id is derived from the key, so this is a look-up by key that no purge can blind. It brings the nonce again,
-- because a claim that failed took its nonce back with it.
--   $1 tenant   $2 payment id   $3 stored nonce or null: internal   $4 id of this call
WITH nonce AS (
    INSERT INTO nonces (nonce, call_id)
    SELECT $3, $4
     WHERE $3 IS NOT NULL
        ON CONFLICT (nonce) DO UPDATE SET call_id = excluded.call_id WHERE nonces.call_id = excluded.call_id
    RETURNING 1
),
admitted AS (
    SELECT
     WHERE $3 IS NULL
        OR EXISTS (SELECT FROM nonce)
)
SELECT 'found' AS result, id, tenant_id, account_id, from_default, recipient_id, amount, currency, status, created_at
  FROM payments
 WHERE id = $2
   AND tenant_id = $1
   AND EXISTS (SELECT FROM admitted)
UNION ALL
SELECT 'nonce_reused', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
 WHERE NOT EXISTS (SELECT FROM admitted)
