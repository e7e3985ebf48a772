-- One payment without an idempotency key, for internal adjustments: debit and payment in one statement and one commit.
-- Where the money comes from is decided as in create_payment.sql; `undecided` as well.
--   $1 payment id   $2 tenant   $3 account or null: the tenant's default
--   $4 recipient    $5 amount in minor units   $6 currency or null: the account's
--   $7 the slot to begin with, when the account has several   $8 whether to lock all of them
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
free AS (
    SELECT s.slot, s.balance, 1 AS slots
      FROM account_slots s
     WHERE s.account_id = (SELECT account_id FROM account)
       AND (SELECT slots > 1 AND NOT $8 FROM account)
       AND s.balance >= $5
     ORDER BY (s.slot + $7) % s.slots
     LIMIT 1
       FOR UPDATE SKIP LOCKED
),
held AS (
    SELECT s.slot, s.balance, s.slots
      FROM account_slots s
     WHERE s.account_id = (SELECT account_id FROM account)
       AND (SELECT slots = 1 OR $8 FROM account)
     ORDER BY s.slot
       FOR UPDATE
),
locked AS (
    SELECT slot, balance, slots, sum(balance) OVER (ORDER BY balance DESC, slot) AS up_to_here
      FROM (SELECT * FROM free UNION ALL SELECT * FROM held) either
),
payer AS (
    SELECT sum(balance) >= $5 AS covers
      FROM locked
    HAVING count(*) = max(slots)
),
payment AS (
    INSERT INTO payments (id, tenant_id, account_id, from_default, recipient_id, amount, currency, status)
    SELECT $1, $2, account.account_id,
           account.account_id IS NOT DISTINCT FROM (SELECT default_account_id FROM tenant),
           $4, $5, account.currency, CASE WHEN payer.covers THEN 'succeeded' ELSE 'declined' END
      FROM payer, account
     WHERE account.currency = coalesce($6, account.currency)
    RETURNING *
),
debit AS (
    UPDATE account_slots
       SET balance = greatest(locked.up_to_here - $5, 0)
      FROM locked, account, payment
     WHERE account_slots.account_id = account.account_id
       AND account_slots.slot = locked.slot
       AND locked.up_to_here - locked.balance < $5
       AND payment.status = 'succeeded'
)
SELECT 'created' AS result, id, tenant_id, account_id, from_default, recipient_id, amount, currency, status, created_at
  FROM payment
UNION ALL
SELECT refusal, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
  FROM (
    SELECT CASE
             WHEN NOT EXISTS (SELECT FROM tenant) THEN 'unknown_caller'
             WHEN NOT EXISTS (SELECT FROM account) THEN 'unknown_account'
             WHEN (SELECT currency FROM account) <> $6 THEN 'currency_mismatch'
             WHEN NOT EXISTS (SELECT FROM payer) THEN 'undecided'
           END AS refusal
  ) refused
 WHERE refusal IS NOT NULL
