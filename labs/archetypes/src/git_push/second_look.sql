-- The second look, when the branch was not at the parent. Both parts read one fresh snapshot, so a commit that is not
-- there was really not pushed, and the refusal is true. No row: the branch is back at the parent, so push again.
--   $1 repository   $2 branch   $3 commit   $4 its parent
WITH existing AS (
    SELECT commit_id
      FROM pushes
     WHERE repository_id = $1 AND branch = $2 AND commit_id = $3
)
SELECT 'found' AS result, commit_id AS head
  FROM existing
UNION ALL
SELECT 'non_fast_forward', head
  FROM branches
 WHERE repository_id = $1 AND name = $2
   AND head <> $4
   AND NOT EXISTS (SELECT FROM existing)
