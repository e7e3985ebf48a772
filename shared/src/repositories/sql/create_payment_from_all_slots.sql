-- The same payment with all slots of the account locked: it decides what create_payment.sql left `undecided`. $1 to $10
-- are the same, and so is all that is not explained here. `undecided` means here that the number of slots has just changed.
WITH caller AS (
    SELECT t.id, t.default_account_id
      FROM tenants t
     WHERE t.id = $3
       AND ($8 IS NULL
            OR EXISTS (SELECT FROM signing_keys s
                        WHERE s.tenant_id = $3 AND s.version = $8 AND s.retired_at IS NULL))
),
nonce AS (
    INSERT INTO nonces (nonce, call_id)
    SELECT $9, $10
      FROM caller
     WHERE $9 IS NOT NULL
        ON CONFLICT (nonce) DO UPDATE SET call_id = excluded.call_id WHERE nonces.call_id = excluded.call_id
    RETURNING 1
),
admitted AS (
    SELECT caller.id, caller.default_account_id
      FROM caller
     WHERE $9 IS NULL
        OR EXISTS (SELECT FROM nonce)
),
existing AS (
    SELECT p.*
      FROM payments p
     WHERE p.id = $2
       AND EXISTS (SELECT FROM admitted)
),
account AS (
    SELECT s.account_id, s.currency, s.slots
      FROM account_slots s
     WHERE s.account_id = coalesce($4, (SELECT default_account_id FROM admitted))
       AND s.tenant_id = (SELECT id FROM admitted)
       AND s.slot = 0
       AND NOT EXISTS (SELECT FROM existing)
),
-- All slots, after whoever holds them. Always in this order: two that want all never block each other.
held AS (
    SELECT s.slot, s.balance, s.slots
      FROM account_slots s
     WHERE s.account_id = (SELECT account_id FROM account)
     ORDER BY s.slot
       FOR UPDATE
),
-- What each slot holds together with the richer ones before it.
locked AS (
    SELECT slot, balance, slots, sum(balance) OVER (ORDER BY balance DESC, slot) AS up_to_here
      FROM held
),
-- Decided only when no slot is missing: a decline needs the locks of all.
payer AS (
    SELECT sum(balance) AS balance
      FROM locked
    HAVING count(*) = max(slots)
),
claim AS (
    INSERT INTO idempotency_keys (key, payment_id, status)
    SELECT $1, $2, CASE WHEN payer.balance >= $6 THEN 'succeeded' ELSE 'declined' END
      FROM payer, account
     WHERE account.currency = coalesce($7, account.currency)
        ON CONFLICT (key) DO NOTHING
    RETURNING payment_id, status
),
-- The richest slots pay first, each all it has until the amount is reached.
debit AS (
    UPDATE account_slots
       SET balance = greatest(locked.up_to_here - $6, 0)
      FROM locked
     WHERE account_slots.account_id = (SELECT account_id FROM account)
       AND account_slots.slot = locked.slot
       AND locked.up_to_here - locked.balance < $6
       AND EXISTS (SELECT FROM claim WHERE status = 'succeeded')
),
payment AS (
    INSERT INTO payments (id, tenant_id, account_id, from_default, recipient_id, amount, currency, status)
    SELECT claim.payment_id, $3, account.account_id,
           account.account_id IS NOT DISTINCT FROM (SELECT default_account_id FROM admitted),
           $5, $6, account.currency, claim.status
      FROM claim, account
    RETURNING *
)
SELECT 'created' AS result, id, tenant_id, account_id, from_default, recipient_id, amount, currency, status, created_at
  FROM payment
UNION ALL
SELECT 'found', id, tenant_id, account_id, from_default, recipient_id, amount, currency, status, created_at
  FROM existing
UNION ALL
SELECT CASE
         WHEN caller.id IS NULL THEN 'unknown_caller'
         WHEN admitted.id IS NULL THEN 'nonce_reused'
         WHEN account.account_id IS NULL THEN 'unknown_account'
         WHEN account.currency <> $7 THEN 'currency_mismatch'
         ELSE 'undecided'
       END, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
  FROM (SELECT) refused
  LEFT JOIN caller ON true
  LEFT JOIN admitted ON true
  LEFT JOIN account ON true
  LEFT JOIN payer ON true
 WHERE NOT EXISTS (SELECT FROM existing)
   AND (payer.balance IS NULL OR account.currency <> $7)
