-- The ledger and the claims on it.

-- A payment is kept for ever: its id is derived from the idempotency key, so payments_pkey refuses a second debit
-- even when the key itself was purged. No foreign key to accounts: it would share-lock the account's row on every
-- insert and cost a hot account most of its throughput; create_payment.sql checks the account itself.
CREATE TABLE payments (
    id                uuid        NOT NULL,
    tenant_id         uuid        NOT NULL,
    account_id        uuid        NOT NULL,
    -- Whether account_id was the tenant's default then: a retry that names no account matches even after the default moved.
    from_default      boolean     NOT NULL,
    recipient_id      uuid        NOT NULL,
    amount            bigint      NOT NULL,
    currency          text        NOT NULL,
    status            text        NOT NULL,
    created_at        timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT payments_pkey PRIMARY KEY (id),
    CONSTRAINT payments_amount_in_range CHECK (amount BETWEEN 1 AND 1000000000000000),
    CONSTRAINT payments_status_is_known CHECK (status IN ('succeeded', 'declined'))
);

-- The claim: at most one row for a key, whoever comes first. No response is stored; it is rebuilt from payment_id.
CREATE TABLE idempotency_keys (
    key        uuid        NOT NULL,
    payment_id uuid        NOT NULL,
    status     text        NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT idempotency_keys_pkey PRIMARY KEY (key),
    CONSTRAINT idempotency_keys_payment_id_fkey FOREIGN KEY (payment_id) REFERENCES payments (id),
    CONSTRAINT idempotency_keys_status_is_known CHECK (status IN ('succeeded', 'declined'))
);

-- For the purge of keys older than 30 days.
CREATE INDEX idempotency_keys_created_at_idx ON idempotency_keys (created_at);
