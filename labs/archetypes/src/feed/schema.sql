-- Posts, who follows whom, and what is new for each follower.

CREATE TABLE posts (
    source     text        NOT NULL,
    author_id  uuid        NOT NULL,
    digest     bytea       NOT NULL,
    content    text        NOT NULL,
    -- Followers at the moment it was published: what a replay answers, whoever has come or gone since.
    reached    bigint      NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- The key is the data.
    CONSTRAINT posts_pkey PRIMARY KEY (source, author_id, digest),
    CONSTRAINT posts_digest_is_sha_256 CHECK (octet_length(digest) = 32)
);

CREATE TABLE feeds (
    follower_id uuid   NOT NULL,
    -- The number on the bell. Counted and not looked up, so counting twice would show.
    unread      bigint NOT NULL DEFAULT 0,
    CONSTRAINT feeds_pkey PRIMARY KEY (follower_id)
);

CREATE TABLE follows (
    author_id   uuid NOT NULL,
    follower_id uuid NOT NULL,
    CONSTRAINT follows_pkey PRIMARY KEY (author_id, follower_id),
    CONSTRAINT follows_follower_id_fkey FOREIGN KEY (follower_id) REFERENCES feeds (follower_id)
);
