-- Replies of sweeps by the hash of all that they depend on: a cell that was
-- run once is not run again.
CREATE TABLE sweep_cell(
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,           -- SHA-256 of messages, tools, model ...
  at_ms INTEGER NOT NULL,
  record TEXT NOT NULL                -- JSON: the reply and what was asked of it
) STRICT;
