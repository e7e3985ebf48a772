-- The tables of the course's flow: the product's, less what that flow does not use. One balance per account, and no
-- foreign key to accounts: it would share-lock the paying account's row and cost the flow a hot account's throughput.

CREATE TABLE accounts (
    id       uuid   PRIMARY KEY,
    currency text   NOT NULL,
    balance  bigint NOT NULL CHECK (balance >= 0)
) WITH (fillfactor = 50);

CREATE TABLE payments (
    id           uuid        PRIMARY KEY,
    account_id   uuid        NOT NULL,
    recipient_id uuid        NOT NULL,
    amount       bigint      NOT NULL CHECK (amount BETWEEN 1 AND 1000000000000000),
    currency     text        NOT NULL,
    status       text        NOT NULL CHECK (status IN ('succeeded', 'declined')),
    created_at   timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE idempotency_keys (
    key        uuid        PRIMARY KEY,
    payment_id uuid        NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX idempotency_keys_created_at_idx ON idempotency_keys (created_at);
