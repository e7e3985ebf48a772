-- One post: look-up, claim and fan-out in one statement, one round trip and one commit (READ COMMITTED).
--   $1 source   $2 author   $3 SHA-256 of the content   $4 content
-- No row means that a live race was lost: a rival published this post after our snapshot was taken.
WITH existing AS (
    SELECT reached
      FROM posts
     WHERE source = $1 AND author_id = $2 AND digest = $3
),
-- The claim is the post: the unique index decides the race.
claim AS (
    INSERT INTO posts (source, author_id, digest, content, reached)
    SELECT $1, $2, $3, $4, (SELECT count(*) FROM follows WHERE author_id = $2)
     WHERE NOT EXISTS (SELECT FROM existing)
        ON CONFLICT (source, author_id, digest) DO NOTHING
    RETURNING reached
),
-- Locked in one order, or two posts with followers in common would deadlock.
reader AS (
    SELECT feeds.follower_id, feeds.unread
      FROM claim, follows, feeds
     WHERE follows.author_id = $2
       AND feeds.follower_id = follows.follower_id
     ORDER BY feeds.follower_id
       FOR UPDATE OF feeds
),
-- Hangs on the claim, through its readers: who published nothing counts nothing. From the locked count, see create_payment.sql.
counted AS (
    UPDATE feeds
       SET unread = reader.unread + 1
      FROM reader
     WHERE feeds.follower_id = reader.follower_id
)
SELECT 'published' AS result, reached
  FROM claim
UNION ALL
SELECT 'found', reached
  FROM existing
