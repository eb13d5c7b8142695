-- What other programs sent to a model through the proxy or the server, and
-- what came back.  Bodies are deflated (RFC 1950).
CREATE TABLE exchange(
  id INTEGER PRIMARY KEY,
  uuid TEXT NOT NULL UNIQUE,
  conversation_id INTEGER REFERENCES conversation(id) ON DELETE CASCADE,
  turn_id INTEGER REFERENCES turn(id) ON DELETE SET NULL, -- the reply, or the
                                      -- last message while there is none
  started_ms INTEGER NOT NULL,
  first_us INTEGER, total_us INTEGER, -- since the start; NULL: not yet
  client TEXT, method TEXT NOT NULL, path TEXT NOT NULL, upstream TEXT,
  api TEXT,                           -- "openai-chat" ...; NULL: not known
  model TEXT,
  status INTEGER,                     -- of HTTP; NULL: no answer yet
  request_id TEXT, response_id TEXT,
  n_messages INTEGER, n_prompt INTEGER, n_cached INTEGER, n_reply INTEGER,
  ended TEXT,                          -- how the reply ended
  note TEXT,                          -- what went wrong with the recording
  findings TEXT NOT NULL DEFAULT '[]',
  request_headers TEXT, response_headers TEXT, -- JSON, without secrets
  request BLOB, request_bytes INTEGER NOT NULL DEFAULT 0,
  response BLOB, response_bytes INTEGER NOT NULL DEFAULT 0,
  chunks BLOB,                        -- number list: bytes, microseconds ...
  request_hash TEXT, reply_hash TEXT  -- to find the same request again
) STRICT;
CREATE INDEX exchange_by_conversation ON exchange(conversation_id, id);
CREATE INDEX exchange_by_turn ON exchange(turn_id);
CREATE INDEX exchange_by_request ON exchange(request_hash, id);
CREATE INDEX exchange_by_response ON exchange(response_id);

-- Beginnings of conversations by hash, so that a request finds the one that
-- it goes on from.
CREATE TABLE exchange_key(
  hash TEXT PRIMARY KEY,
  conversation_id INTEGER NOT NULL REFERENCES conversation(id)
    ON DELETE CASCADE,
  turn_id INTEGER NOT NULL REFERENCES turn(id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX exchange_key_by_conversation ON exchange_key(conversation_id);
CREATE INDEX exchange_key_by_turn ON exchange_key(turn_id);
