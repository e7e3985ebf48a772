-- Deletes one batch of expired nonces, the oldest first, along the index on created_at. Nonces that another purge is
-- deleting are skipped, so two purges never wait for each other.
--   $1 retention in minutes   $2 nonces in a batch
WITH expired AS (
    SELECT nonce
      FROM nonces
     WHERE created_at < now() - make_interval(mins => $1)
     ORDER BY created_at
     LIMIT $2
       FOR UPDATE SKIP LOCKED
),
deleted AS (
    DELETE FROM nonces
     USING expired
     WHERE nonces.nonce = expired.nonce
    RETURNING 1
)
SELECT count(*) AS deleted FROM deleted
