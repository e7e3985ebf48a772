-- One push: look-up, branch, claim and move in one statement, one round trip and one commit (READ COMMITTED).
--   $1 repository   $2 branch   $3 commit   $4 its parent
-- No row means that the branch is not at the parent. That alone is no refusal: a rival may have pushed this very commit
-- after our snapshot was taken, and others on top of it. Only a fresh look can tell.
WITH existing AS (
    SELECT commit_id
      FROM pushes
     WHERE repository_id = $1 AND branch = $2 AND commit_id = $3
),
-- Locked until the commit. After a wait this is the row as the rival left it.
branch AS (
    SELECT head
      FROM branches
     WHERE repository_id = $1 AND name = $2
       AND NOT EXISTS (SELECT FROM existing)
       FOR UPDATE
),
-- Compare and swap: the commit is taken only onto its own parent.
claim AS (
    INSERT INTO pushes (repository_id, branch, commit_id, parent_id)
    SELECT $1, $2, $3, $4
      FROM branch
     WHERE head = $4
        ON CONFLICT (repository_id, branch, commit_id) DO NOTHING
    RETURNING commit_id
),
moved AS (
    UPDATE branches
       SET head = claim.commit_id
      FROM claim
     WHERE repository_id = $1 AND name = $2
)
SELECT 'pushed' AS result, commit_id AS head
  FROM claim
UNION ALL
SELECT 'found', commit_id
  FROM existing
UNION ALL
SELECT 'unknown_branch', NULL
 WHERE NOT EXISTS (SELECT FROM existing)
   AND NOT EXISTS (SELECT FROM branch)
