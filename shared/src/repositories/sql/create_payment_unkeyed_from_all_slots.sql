-- The same payment without an idempotency key with all slots of the account locked, as create_payment_from_all_slots.sql.
-- $1 to $6 are those of create_payment_unkeyed.sql.
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
held AS (
    SELECT s.slot, s.balance, s.slots
      FROM account_slots s
     WHERE s.account_id = (SELECT account_id FROM account)
     ORDER BY s.slot
       FOR UPDATE
),
locked AS (
    SELECT slot, balance, slots, sum(balance) OVER (ORDER BY balance DESC, slot) AS up_to_here
      FROM held
),
payer AS (
    SELECT sum(balance) AS balance
      FROM locked
    HAVING count(*) = max(slots)
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
       SET balance = greatest(locked.up_to_here - $5, 0)
      FROM locked
     WHERE account_slots.account_id = (SELECT account_id FROM account)
       AND account_slots.slot = locked.slot
       AND locked.up_to_here - locked.balance < $5
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
 WHERE payer.balance IS NULL
    OR account.currency <> $6
