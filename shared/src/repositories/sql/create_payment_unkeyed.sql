-- One payment without an idempotency key, for internal adjustments: debit and payment in one statement and one commit.
--   $1 payment id   $2 tenant   $3 account or null: the tenant's default
--   $4 recipient    $5 amount in minor units   $6 currency or null: the account's
WITH tenant AS (
    SELECT t.id, t.default_account_id
      FROM tenants t
     WHERE t.id = $2
),
payer AS (
    SELECT a.id, a.balance, a.currency, CASE WHEN a.balance >= $5 THEN 'succeeded' ELSE 'declined' END AS status
      FROM accounts a
     WHERE a.id = coalesce($3, (SELECT default_account_id FROM tenant))
       AND a.tenant_id = (SELECT id FROM tenant)
       FOR UPDATE
),
payment AS (
    INSERT INTO payments (id, tenant_id, account_id, from_default, recipient_id, amount, currency, status)
    SELECT $1, $2, payer.id, payer.id IS NOT DISTINCT FROM (SELECT default_account_id FROM tenant), $4, $5, payer.currency, payer.status
      FROM payer
     WHERE payer.currency = coalesce($6, payer.currency)
    RETURNING *
),
debit AS (
    -- From the locked balance, see create_payment.sql.
    UPDATE accounts
       SET balance = payer.balance - $5
      FROM payer, payment
     WHERE accounts.id = payer.id
       AND payment.status = 'succeeded'
)
SELECT 'created' AS result, id, tenant_id, account_id, from_default, recipient_id, amount, currency, status, created_at
  FROM payment
UNION ALL
SELECT refusal, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
  FROM (
    SELECT CASE
             WHEN NOT EXISTS (SELECT FROM tenant) THEN 'unknown_caller'
             WHEN NOT EXISTS (SELECT FROM payer) THEN 'unknown_account'
             WHEN (SELECT currency FROM payer) <> $6 THEN 'currency_mismatch'
           END AS refusal
  ) refused
 WHERE refusal IS NOT NULL
