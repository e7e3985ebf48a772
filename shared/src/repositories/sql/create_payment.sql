-- One payment: caller, nonce, look-up, claim, debit and payment in one statement, one round trip and one commit
-- (READ COMMITTED).
--   $1 stored key   $2 payment id (derived from $1)   $3 tenant   $4 account or null: the tenant's default
--   $5 recipient    $6 amount in minor units          $7 currency or null: the account's
--   $8 version of the signing key or null: internal   $9 stored nonce or null: internal   $10 id of this call
--   $11 the slot to begin with, when the account has several   $12 whether to lock all of them
-- No row means that a live race was lost: a rival committed this key after our snapshot was taken, so only a
-- fresh statement can see its payment. `undecided` means that no single free slot covers the amount, or that the number
-- of slots has just changed: the same statement with $12 true decides.
WITH caller AS (
    SELECT t.id, t.default_account_id
      FROM tenants t
     WHERE t.id = $3
       AND ($8 IS NULL
            OR EXISTS (SELECT FROM signing_keys s
                        WHERE s.tenant_id = $3 AND s.version = $8 AND s.retired_at IS NULL))
),
-- A nonce belongs to the call that brought it first. The update changes nothing; it lets a retry of that same call
-- go on, and waits for a rival that brings the same nonce at the same time.
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
-- A settled key: its payment id is derived from it, so the payment is found also after the key was purged.
-- When it is found, nothing below runs: no lock, no write.
existing AS (
    SELECT p.*
      FROM payments p
     WHERE p.id = $2
       AND EXISTS (SELECT FROM admitted)
),
-- The account that pays, known by its slot 0. The locks below are what serializes the decisions on its balance.
account AS (
    SELECT s.account_id, s.currency, s.slots
      FROM account_slots s
     WHERE s.account_id = coalesce($4, (SELECT default_account_id FROM admitted))
       AND s.tenant_id = (SELECT id FROM admitted)
       AND s.slot = 0
       AND NOT EXISTS (SELECT FROM existing)
),
-- Fast path of an account with several slots: one that covers the amount alone and that nobody holds.
free AS (
    SELECT s.slot, s.balance, 1 AS slots
      FROM account_slots s
     WHERE s.account_id = (SELECT account_id FROM account)
       AND (SELECT slots > 1 AND NOT $12 FROM account)
       AND s.balance >= $6
     ORDER BY (s.slot + $11) % s.slots
     LIMIT 1
       FOR UPDATE SKIP LOCKED
),
-- The only slot, or all of them, after whoever holds them. Always in this order: two that want all never block each other.
held AS (
    SELECT s.slot, s.balance, s.slots
      FROM account_slots s
     WHERE s.account_id = (SELECT account_id FROM account)
       AND (SELECT slots = 1 OR $12 FROM account)
     ORDER BY s.slot
       FOR UPDATE
),
-- What each locked slot holds together with the richer ones before it.
locked AS (
    SELECT slot, balance, slots, sum(balance) OVER (ORDER BY balance DESC, slot) AS up_to_here
      FROM (SELECT * FROM free UNION ALL SELECT * FROM held) either
),
-- Decided only when no slot is missing: a decline needs the locks of all.
payer AS (
    SELECT sum(balance) >= $6 AS covers
      FROM locked
    HAVING count(*) = max(slots)
),
-- The unique index decides the race, and the claim carries its outcome: no key is ever burnt without one.
claim AS (
    INSERT INTO idempotency_keys (key, payment_id, status)
    SELECT $1, $2, CASE WHEN payer.covers THEN 'succeeded' ELSE 'declined' END
      FROM payer, account
     WHERE account.currency = coalesce($7, account.currency)
        ON CONFLICT (key) DO NOTHING
    RETURNING payment_id, status
),
-- The richest slots pay first, each all it has until the amount is reached.
debit AS (
    -- From the locked balance: PostgreSQL first tries the row of our snapshot, and its older balance could fail the
    -- check on the slot although a deposit has covered the amount meanwhile.
    UPDATE account_slots
       SET balance = greatest(locked.up_to_here - $6, 0)
      FROM locked, account, claim
     WHERE account_slots.account_id = account.account_id
       AND account_slots.slot = locked.slot
       AND locked.up_to_here - locked.balance < $6
       AND claim.status = 'succeeded'
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
SELECT refusal, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
  FROM (
    SELECT CASE
             WHEN NOT EXISTS (SELECT FROM caller) THEN 'unknown_caller'
             WHEN NOT EXISTS (SELECT FROM admitted) THEN 'nonce_reused'
             WHEN EXISTS (SELECT FROM existing) THEN NULL
             WHEN NOT EXISTS (SELECT FROM account) THEN 'unknown_account'
             WHEN (SELECT currency FROM account) <> $7 THEN 'currency_mismatch'
             WHEN NOT EXISTS (SELECT FROM payer) THEN 'undecided'
           END AS refusal
  ) refused
 WHERE refusal IS NOT NULL
