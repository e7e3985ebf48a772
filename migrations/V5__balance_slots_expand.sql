-- A hot account: its balance may lie in several slots, so that payments need not wait for each other's commit.
-- First of two steps. The table is renamed, and a view keeps its old name: the previous release's statement works on it
-- as before, beside this release's. Until the second step (V6) every account keeps its one slot, because the previous
-- release sees no other.

ALTER TABLE accounts RENAME TO account_slots;
ALTER TABLE account_slots RENAME COLUMN id TO account_id;
ALTER TABLE account_slots
    -- 0 to slots - 1. Slot 0 is always there.
    ADD COLUMN slot  smallint NOT NULL DEFAULT 0,
    -- How many the account has, repeated in each of them: a statement whose snapshot is older than a change of the
    -- number sees from the rows it locked that some are missing.
    ADD COLUMN slots smallint NOT NULL DEFAULT 1,
    ADD CONSTRAINT account_slots_slots_in_range CHECK (slots BETWEEN 1 AND 1024),
    ADD CONSTRAINT account_slots_slot_in_range CHECK (slot >= 0 AND slot < slots),
    ADD CONSTRAINT account_slots_one_until_contracted CHECK (slots = 1);

-- The primary key of an account becomes that of a slot. The default account of a tenant is known by its slot 0.
ALTER TABLE tenants DROP CONSTRAINT tenants_default_account_id_fkey;
ALTER TABLE account_slots
    DROP CONSTRAINT accounts_pkey,
    ADD CONSTRAINT account_slots_pkey PRIMARY KEY (account_id, slot);
ALTER TABLE tenants
    ADD COLUMN default_account_slot smallint GENERATED ALWAYS AS (0) STORED,
    ADD CONSTRAINT tenants_default_account_id_fkey
        FOREIGN KEY (default_account_id, default_account_slot) REFERENCES account_slots (account_id, slot);

CREATE VIEW accounts AS
SELECT account_id AS id, tenant_id, currency, balance, created_at, slots
  FROM account_slots
 WHERE slot = 0;

-- For the previous release. This one reads and writes the slots; its rights on them came along with the table's new name.
GRANT SELECT, UPDATE (balance) ON accounts TO payments_app;
