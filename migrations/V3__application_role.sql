-- The role that the functions log in as, with the least it needs. Roles belong to the whole server, so it may exist.
DO $$
BEGIN
    CREATE ROLE payments_app LOGIN;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
    NULL;
END
$$;

-- Session settings live on the role: RDS Proxy pins a connection that runs SET, and allows no startup options.
ALTER ROLE payments_app SET statement_timeout = '5s';
-- The bounded wait for a live rival: after it the client hears 409 and retries with the same key.
ALTER ROLE payments_app SET lock_timeout = '2s';
ALTER ROLE payments_app SET idle_in_transaction_session_timeout = '5s';
-- The statement is written for READ COMMITTED; REPEATABLE READ would turn a lost race into 40001.
ALTER ROLE payments_app SET default_transaction_isolation = 'read committed';
-- An answer is a promise: never acknowledge a commit that a crash could lose.
ALTER ROLE payments_app SET synchronous_commit = 'on';

GRANT SELECT ON tenants TO payments_app;
-- FOR UPDATE asks for the right to update at least one column.
GRANT SELECT, UPDATE (balance) ON accounts TO payments_app;
GRANT SELECT, INSERT ON payments TO payments_app;
GRANT SELECT, INSERT, UPDATE (created_at), DELETE ON idempotency_keys TO payments_app;
