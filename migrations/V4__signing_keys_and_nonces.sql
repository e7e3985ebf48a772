-- Who may sign, and which signatures were already used. No secret is stored: each is derived from a master secret.

CREATE TABLE signing_keys (
    tenant_id  uuid        NOT NULL,
    version    integer     NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- From this moment on the next request signed with it is refused.
    retired_at timestamptz,
    CONSTRAINT signing_keys_pkey PRIMARY KEY (tenant_id, version),
    CONSTRAINT signing_keys_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants (id),
    CONSTRAINT signing_keys_version_is_positive CHECK (version >= 1)
);

-- A nonce as it is stored: UUIDv5 of the tenant, the key version and the client's nonce.
CREATE TABLE nonces (
    nonce      uuid        NOT NULL,
    -- The one call that may use it: its own retries find their nonce and go on, everybody else is refused.
    call_id    uuid        NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT nonces_pkey PRIMARY KEY (nonce)
);

-- For the purge of nonces that no signature can use any more.
CREATE INDEX nonces_created_at_idx ON nonces (created_at);

GRANT SELECT ON signing_keys TO payments_app;
GRANT SELECT, INSERT, UPDATE (call_id), DELETE ON nonces TO payments_app;
