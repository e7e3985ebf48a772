-- Branches, and each commit that was pushed to one.

CREATE TABLE branches (
    repository_id uuid NOT NULL,
    name          text NOT NULL,
    -- The commit that the branch is at.
    head          text NOT NULL,
    CONSTRAINT branches_pkey PRIMARY KEY (repository_id, name)
);

CREATE TABLE pushes (
    repository_id uuid        NOT NULL,
    branch        text        NOT NULL,
    commit_id     text        NOT NULL,
    parent_id     text        NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now(),
    -- The key is the data: this commit, on this branch.
    CONSTRAINT pushes_pkey PRIMARY KEY (repository_id, branch, commit_id),
    -- A branch is a line: no commit on it has two children.
    CONSTRAINT pushes_parent_key UNIQUE (repository_id, branch, parent_id)
);
