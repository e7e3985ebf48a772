-- Deletes one batch of expired nonces, the oldest first, along the index on created_at. Nonces that another purge is
-- deleting are skipped, so two purges never wait for each other.
--   $1 retention in minutes   $2 nonces in a batch
WITH expired AS (
    SELECT ctid
      FROM nonces
     WHERE created_at < now() - make_interval(mins => $1)
     ORDER BY created_at
     LIMIT $2
       FOR UPDATE SKIP LOCKED
),
deleted AS (
    -- As in purge_expired_keys.sql: by their place, which a locked row keeps.
    DELETE FROM nonces
     WHERE ctid = ANY (ARRAY(SELECT ctid FROM expired))
    RETURNING 1
)
SELECT count(*) AS deleted FROM deleted
