-- One message: look-up, place, claim and count in one statement, one round trip and one commit (READ COMMITTED).
--   $1 message id (derived from sender and key)   $2 conversation   $3 text
-- No row means that a live race was lost: a rival delivered this message after our snapshot was taken.
WITH existing AS (
    SELECT conversation_id, sequence, text
      FROM messages
     WHERE id = $1
),
-- Locked until the commit: messages that arrive at once get their places one after the other.
conversation AS (
    SELECT id, last_sequence
      FROM conversations
     WHERE id = $2
       AND NOT EXISTS (SELECT FROM existing)
       FOR UPDATE
),
-- The claim is the message: the unique index decides the race.
claim AS (
    INSERT INTO messages (id, conversation_id, sequence, text)
    SELECT $1, id, last_sequence + 1, $3
      FROM conversation
        ON CONFLICT (id) DO NOTHING
    RETURNING conversation_id, sequence, text
),
-- Hangs on the claim: a copy that lost the race takes no place, so the numbers have no gaps.
counted AS (
    UPDATE conversations
       SET last_sequence = claim.sequence
      FROM claim
     WHERE conversations.id = claim.conversation_id
)
SELECT 'delivered' AS result, conversation_id, sequence, text
  FROM claim
UNION ALL
SELECT 'found', conversation_id, sequence, text
  FROM existing
UNION ALL
SELECT 'unknown_conversation', NULL, NULL, NULL
 WHERE NOT EXISTS (SELECT FROM existing)
   AND NOT EXISTS (SELECT FROM conversation)
