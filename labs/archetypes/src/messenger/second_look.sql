-- The second look after a lost race: a fresh snapshot sees the message that the rival delivered.
--   $1 message id
SELECT 'found' AS result, conversation_id, sequence, text
  FROM messages
 WHERE id = $1
