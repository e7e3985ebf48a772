-- One migration at a time. The lock lives as long as the session, so a crash releases it.
--   $1 the lock's number
SELECT pg_advisory_lock($1)
