-- Deletes one batch of expired keys, the oldest first, along the index on created_at. Keys that another purge is
-- deleting are skipped, so two purges never wait for each other.
--   $1 retention in days   $2 keys in a batch
WITH expired AS (
    SELECT key
      FROM idempotency_keys
     WHERE created_at < now() - make_interval(days => $1)
     ORDER BY created_at
     LIMIT $2
       FOR UPDATE SKIP LOCKED
),
deleted AS (
    -- An array and not a join: a join would scan the whole table for each batch while it is of middling size.
    DELETE FROM idempotency_keys
     WHERE key = ANY (ARRAY(SELECT key FROM expired))
    RETURNING 1
)
SELECT count(*) AS deleted FROM deleted
