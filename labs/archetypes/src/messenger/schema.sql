-- Conversations and what was said in them.

CREATE TABLE conversations (
    id            uuid   NOT NULL,
    -- The place of the newest message. A row and not a PostgreSQL sequence: a sequence leaves a gap when a statement fails.
    last_sequence bigint NOT NULL DEFAULT 0,
    CONSTRAINT conversations_pkey PRIMARY KEY (id)
);

CREATE TABLE messages (
    -- UUIDv5 of the sender and the client's key: the message is its own claim.
    id              uuid        NOT NULL,
    conversation_id uuid        NOT NULL,
    sequence        bigint      NOT NULL,
    text            text        NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT messages_pkey PRIMARY KEY (id),
    -- No two messages at one place.
    CONSTRAINT messages_place_key UNIQUE (conversation_id, sequence)
);
