-- Who may pay, and from which balance. Money is an integer of minor units.

CREATE TABLE tenants (
    id                 uuid        NOT NULL,
    name               text        NOT NULL,
    -- The account that pays when a request names none.
    default_account_id uuid,
    created_at         timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT tenants_pkey PRIMARY KEY (id)
);

CREATE TABLE accounts (
    id         uuid        NOT NULL,
    tenant_id  uuid        NOT NULL,
    currency   text        NOT NULL,
    balance    bigint      NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT accounts_pkey PRIMARY KEY (id),
    CONSTRAINT accounts_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants (id),
    CONSTRAINT accounts_currency_is_iso_4217 CHECK (currency ~ '^[A-Z]{3}$'),
    CONSTRAINT accounts_balance_not_negative CHECK (balance >= 0)
) WITH (fillfactor = 50); -- Every payment rewrites the row: free space on its page keeps the update heap-only.

ALTER TABLE tenants
    ADD CONSTRAINT tenants_default_account_id_fkey FOREIGN KEY (default_account_id) REFERENCES accounts (id);
