-- The second look after a lost race: a fresh snapshot sees the post that the rival published.
--   $1 source   $2 author   $3 SHA-256 of the content
SELECT 'found' AS result, reached
  FROM posts
 WHERE source = $1 AND author_id = $2 AND digest = $3
