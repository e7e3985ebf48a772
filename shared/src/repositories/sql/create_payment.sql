-- One payment: caller, nonce, look-up, claim, debit and payment in one statement, one round trip and one commit
-- (READ COMMITTED).
--   $1 stored key   $2 payment id (derived from $1)   $3 tenant   $4 account or null: the tenant's default
--   $5 recipient    $6 amount in minor units          $7 currency or null: the account's
--   $8 version of the signing key or null: internal   $9 stored nonce or null: internal   $10 id of this call
--   $11 the slot to begin with, when the account has several
-- No row means that a live race was lost: a rival committed this key after our snapshot was taken, so only a
-- fresh statement can see its payment. `undecided` means that no single free slot covers the amount:
-- create_payment_from_all_slots.sql decides.
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
-- An account of one slot: it is locked, after whoever holds it, and all its money is known.
sole AS (
    SELECT s.slot, s.balance
      FROM account_slots s
     WHERE s.account_id = (SELECT account_id FROM account WHERE slots = 1)
       AND s.slots = 1
       FOR UPDATE
),
-- An account of several: the first slot that covers the amount alone and that nobody holds, from a random one to the
-- last, then from slot 0 on.
free AS (
    SELECT found.slot, found.balance
      FROM account,
           (VALUES ($11), (0)) AS start (slot),
           LATERAL (SELECT s.slot, s.balance
                      FROM account_slots s
                     WHERE s.account_id = account.account_id
                       AND s.slot >= start.slot % account.slots
                       AND s.balance >= $6
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
-- The unique index decides the race, and the claim carries its outcome: no key is ever burnt without one.
claim AS (
    INSERT INTO idempotency_keys (key, payment_id, status)
    SELECT $1, $2, CASE WHEN payer.balance >= $6 THEN 'succeeded' ELSE 'declined' END
      FROM payer, account
     WHERE account.currency = coalesce($7, account.currency)
        ON CONFLICT (key) DO NOTHING
    RETURNING payment_id, status
),
-- From the locked balance: PostgreSQL first tries the row of our snapshot, and its older balance could fail the check on
-- the slot although a deposit has covered the amount meanwhile.
debit AS (
    UPDATE account_slots
       SET balance = (SELECT balance FROM payer) - $6
     WHERE account_id = (SELECT account_id FROM account)
       AND slot = (SELECT slot FROM payer)
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
   AND (payer.slot IS NULL OR account.currency <> $7)
