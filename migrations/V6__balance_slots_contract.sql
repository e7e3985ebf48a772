-- Second step: accounts may have several slots. The previous release, which knows none, is refused from now on.

REVOKE ALL ON accounts FROM payments_app;
ALTER TABLE account_slots DROP CONSTRAINT account_slots_one_until_contracted;

-- One figure for an account, however many slots its balance lies in.
CREATE OR REPLACE VIEW accounts AS
SELECT account_id AS id,
       tenant_id,
       currency,
       (balance + coalesce((SELECT sum(further.balance)
                              FROM account_slots further
                             WHERE further.account_id = account_slots.account_id
                               AND further.slot > 0), 0))::bigint AS balance,
       created_at,
       slots
  FROM account_slots
 WHERE slot = 0;
ALTER VIEW accounts ALTER COLUMN balance SET DEFAULT 0;
ALTER VIEW accounts ALTER COLUMN created_at SET DEFAULT now();
ALTER VIEW accounts ALTER COLUMN slots SET DEFAULT 1;

-- What slot n of so many gets of a total: equal shares, and the first ones the rest.
CREATE FUNCTION share_of_slot(total bigint, slots smallint, slot integer) RETURNS bigint
    LANGUAGE sql IMMUTABLE
    RETURN total / greatest(slots, 1) + CASE WHEN slot < total % greatest(slots, 1) THEN 1 ELSE 0 END;

-- Writing to the view is for people who open, top up or split accounts; no payment comes this way. A changed balance is
-- a booking of the difference, so that `SET balance = balance + 100` adds 100 also beside payments. Every write spreads
-- the balance evenly, under the locks of all slots, taken in the order in which payments take them.
CREATE FUNCTION write_account() RETURNS trigger
    LANGUAGE plpgsql AS
$$
DECLARE
    total bigint := NEW.balance;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        PERFORM FROM account_slots WHERE account_id = OLD.id ORDER BY slot FOR UPDATE;
        -- What the row was when it was read may be old by now; what is asked for is the difference.
        SELECT sum(balance) + NEW.balance - OLD.balance, CASE WHEN NEW.slots = OLD.slots THEN max(slots) ELSE NEW.slots END
          INTO total, NEW.slots
          FROM account_slots
         WHERE account_id = OLD.id;
    END IF;
    IF total < 0 THEN
        RAISE check_violation USING
            MESSAGE = format('the balance of account %s would be %s', NEW.id, total),
            CONSTRAINT = 'accounts_balance_not_negative';
    END IF;
    IF TG_OP = 'UPDATE' THEN
        DELETE FROM account_slots WHERE account_id = OLD.id AND slot >= NEW.slots AND slot > 0;
        UPDATE account_slots
           SET account_id = NEW.id, tenant_id = NEW.tenant_id, currency = NEW.currency, created_at = NEW.created_at,
               slots = NEW.slots, balance = share_of_slot(total, NEW.slots, slot)
         WHERE account_id = OLD.id;
    END IF;
    INSERT INTO account_slots (account_id, tenant_id, currency, created_at, slot, slots, balance)
    SELECT NEW.id, NEW.tenant_id, NEW.currency, NEW.created_at, n, NEW.slots, share_of_slot(total, NEW.slots, n)
      FROM generate_series(0, NEW.slots - 1) n
     WHERE TG_OP = 'INSERT'
        OR NOT EXISTS (SELECT FROM account_slots WHERE account_id = NEW.id AND slot = n);
    NEW.balance := total;
    RETURN NEW;
END
$$;

CREATE FUNCTION delete_account() RETURNS trigger
    LANGUAGE plpgsql AS
$$
BEGIN
    DELETE FROM account_slots WHERE account_id = OLD.id;
    RETURN OLD;
END
$$;

CREATE TRIGGER accounts_write INSTEAD OF INSERT OR UPDATE ON accounts
    FOR EACH ROW EXECUTE FUNCTION write_account();
CREATE TRIGGER accounts_delete INSTEAD OF DELETE ON accounts
    FOR EACH ROW EXECUTE FUNCTION delete_account();
