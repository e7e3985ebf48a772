-- One payment of one tenant. Also the second look of create_payment.sql: the id is derived from the key, so it is a
-- look-up by key that no purge can blind.
--   $1 tenant   $2 payment id
SELECT 'found' AS result, id, tenant_id, account_id, from_default, recipient_id, amount, currency, status, created_at
  FROM payments
 WHERE id = $2
   AND tenant_id = $1
