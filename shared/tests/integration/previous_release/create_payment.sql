-- One payment: caller, nonce, look-up, claim, debit and payment in one statement, one round trip and one commit
-- (READ COMMITTED).
--   $1 stored key   $2 payment id (derived from $1)   $3 tenant   $4 account or null: the tenant's default
--   $5 recipient    $6 amount in minor units          $7 currency or null: the account's
--   $8 version of the signing key or null: internal   $9 stored nonce or null: internal   $10 id of this call
-- No row means that a live race was lost: a rival committed this key after our snapshot was taken, so only a
-- fresh statement can see its payment.
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
-- The account that pays, locked until the commit. The lock serializes the decisions on one balance.
payer AS (
    SELECT a.id, a.balance, a.currency
      FROM accounts a
     WHERE a.id = coalesce($4, (SELECT default_account_id FROM admitted))
       AND a.tenant_id = (SELECT id FROM admitted)
       AND NOT EXISTS (SELECT FROM existing)
       FOR UPDATE
),
-- The unique index decides the race, and the claim carries its outcome: no key is ever burnt without one.
claim AS (
    INSERT INTO idempotency_keys (key, payment_id, status)
    SELECT $1, $2, CASE WHEN payer.balance >= $6 THEN 'succeeded' ELSE 'declined' END
      FROM payer
     WHERE payer.currency = coalesce($7, payer.currency)
        ON CONFLICT (key) DO NOTHING
    RETURNING payment_id, status
),
debit AS (
    -- From the locked balance: PostgreSQL first tries the row of our snapshot, and its older balance could fail the
    -- check on the account although a deposit has covered the amount meanwhile.
    UPDATE accounts
       SET balance = payer.balance - $6
      FROM payer, claim
     WHERE accounts.id = payer.id
       AND claim.status = 'succeeded'
),
payment AS (
    INSERT INTO payments (id, tenant_id, account_id, from_default, recipient_id, amount, currency, status)
    SELECT claim.payment_id, $3, payer.id,
           payer.id IS NOT DISTINCT FROM (SELECT default_account_id FROM admitted),
           $5, $6, payer.currency, claim.status
      FROM claim, payer
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
             WHEN NOT EXISTS (SELECT FROM payer) THEN 'unknown_account'
             WHEN (SELECT currency FROM payer) <> $7 THEN 'currency_mismatch'
           END AS refusal
  ) refused
 WHERE refusal IS NOT NULL
