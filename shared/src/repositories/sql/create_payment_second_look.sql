-- Looks for a payment that is settled: the second look after a lost race, a repeated operation whose key was purged, or a
-- wait that was cut short; and the first one when this process has seen the payment before. An internal caller, who
-- brings no nonce, looks with get_payment.sql.
-- The id is derived from the key, so this is a look-up by key that no purge can blind. It brings the nonce again,
-- because a claim that failed took its nonce back with it.
--   $1 tenant   $2 payment id   $3 version of the signing key   $4 stored nonce   $5 id of this call
-- No row: there is none, or the signing key is retired. The claim tells which.
WITH caller AS (
    SELECT
      FROM signing_keys s
     WHERE s.tenant_id = $1
       AND s.version = $3
       AND s.retired_at IS NULL
),
nonce AS (
    INSERT INTO nonces (nonce, call_id)
    SELECT $4, $5
      FROM caller
        ON CONFLICT (nonce) DO UPDATE SET call_id = excluded.call_id WHERE nonces.call_id = excluded.call_id
    RETURNING 1
)
SELECT 'found' AS result, id, tenant_id, account_id, from_default, recipient_id, amount, currency, status, created_at
  FROM payments
 WHERE id = $2
   AND tenant_id = $1
   AND EXISTS (SELECT FROM nonce)
UNION ALL
SELECT 'nonce_reused', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
  FROM caller
 WHERE NOT EXISTS (SELECT FROM nonce)
