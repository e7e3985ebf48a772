-- One payment without an idempotency key, for internal adjustments: debit and payment in one statement and one commit.
-- What pays is decided as in create_payment.sql; `undecided` as well: create_payment_unkeyed_from_all_slots.sql decides.
--   $1 payment id   $2 tenant   $3 account or null: the tenant's default
--   $4 recipient    $5 amount in minor units   $6 currency or null: the account's
--   $7 the slot to begin with, when the account has several
WITH tenant AS (
    SELECT t.id, t.default_account_id
      FROM tenants t
     WHERE t.id = $2
),
account AS (
    SELECT s.account_id, s.currency, s.slots
      FROM account_slots s
     WHERE s.account_id = coalesce($3, (SELECT default_account_id FROM tenant))
       AND s.tenant_id = (SELECT id FROM tenant)
       AND s.slot = 0
),
sole AS (
    SELECT s.slot, s.balance
      FROM account_slots s
     WHERE s.account_id = (SELECT account_id FROM account WHERE slots = 1)
       AND s.slots = 1
       FOR UPDATE
),
free AS (
    SELECT found.slot, found.balance
      FROM account,
           (VALUES ($7), (0)) AS start (slot),
           LATERAL (SELECT s.slot, s.balance
                      FROM account_slots s
                     WHERE s.account_id = account.account_id
                       AND s.slot >= start.slot % account.slots
                       AND s.balance >= $5
                     ORDER BY s.slot
                     LIMIT 1
                       FOR UPDATE SKIP LOCKED) found
     WHERE account.slots > 1
     LIMIT 1
),
payer AS (
    SELECT slot, balance FROM sole
     UNION ALL
    SELECT slot, balance FROM free
),
payment AS (
    INSERT INTO payments (id, tenant_id, account_id, from_default, recipient_id, amount, currency, status)
    SELECT $1, $2, account.account_id,
           account.account_id IS NOT DISTINCT FROM (SELECT default_account_id FROM tenant),
           $4, $5, account.currency, CASE WHEN payer.balance >= $5 THEN 'succeeded' ELSE 'declined' END
      FROM payer, account
     WHERE account.currency = coalesce($6, account.currency)
    RETURNING *
),
debit AS (
    UPDATE account_slots
       SET balance = (SELECT balance FROM payer) - $5
     WHERE account_id = (SELECT account_id FROM account)
       AND slot = (SELECT slot FROM payer)
       AND EXISTS (SELECT FROM payment WHERE status = 'succeeded')
)
SELECT 'created' AS result, id, tenant_id, account_id, from_default, recipient_id, amount, currency, status, created_at
  FROM payment
UNION ALL
SELECT CASE
         WHEN tenant.id IS NULL THEN 'unknown_caller'
         WHEN account.account_id IS NULL THEN 'unknown_account'
         WHEN account.currency <> $6 THEN 'currency_mismatch'
         ELSE 'undecided'
       END, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
  FROM (SELECT) refused
  LEFT JOIN tenant ON true
  LEFT JOIN account ON true
  LEFT JOIN payer ON true
 WHERE payer.slot IS NULL
    OR account.currency <> $6
