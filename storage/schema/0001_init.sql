-- The tables of version 1.  See docs/store.md.
-- Rows refer to each other by integer; people and other programs by uuid.
CREATE TABLE template(
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,          -- SHA-256 of source
  name TEXT NOT NULL,
  source TEXT NOT NULL,
  parent_hash TEXT,                   -- the template it was edited from
  created_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE tool(
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,          -- SHA-256 of declaration
  name TEXT NOT NULL,
  declaration TEXT NOT NULL           -- JSON as the template saw it
) STRICT;

CREATE TABLE blob(
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,          -- SHA-256 of data
  data BLOB NOT NULL
) STRICT;

-- What was said.  Never changed, shared by every turn that says the same.
CREATE TABLE message(
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,          -- SHA-256 of the stored JSON
  role TEXT NOT NULL,
  text TEXT NOT NULL,                 -- what people and models wrote
  tool_text TEXT NOT NULL,            -- tool calls and tool results
  body TEXT                           -- the JSON; NULL: {"role","content"} of
                                      -- the two columns, in that order
) STRICT;

CREATE TABLE message_blob(
  message_id INTEGER NOT NULL REFERENCES message(id) ON DELETE CASCADE,
  blob_id INTEGER NOT NULL REFERENCES blob(id),
  PRIMARY KEY(message_id, blob_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX message_blob_by_blob ON message_blob(blob_id);

CREATE TABLE conversation(
  id INTEGER PRIMARY KEY,
  uuid TEXT NOT NULL UNIQUE,
  place INTEGER NOT NULL DEFAULT 0,   -- 0 live, 1 archived, 2 trash
  title TEXT NOT NULL DEFAULT '',
  preview TEXT NOT NULL DEFAULT '',   -- start of the first user text
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  head_id INTEGER REFERENCES turn(id) ON DELETE SET NULL,
  forked_from TEXT,                   -- uuid of a turn elsewhere
  preface TEXT,                       -- JSON: tools, extra_context ...
  source TEXT,                        -- JSON: where an import came from
  n_turns INTEGER NOT NULL DEFAULT 0,
  n_forks INTEGER NOT NULL DEFAULT 0, -- leaves beyond the first
  model TEXT NOT NULL DEFAULT '',     -- of the newest run
  template_hash TEXT NOT NULL DEFAULT '',
  status TEXT NOT NULL DEFAULT ''     -- of the newest turn
) STRICT;
CREATE INDEX conversation_by_update ON conversation(place, updated_ms, id);
CREATE INDEX conversation_by_creation ON conversation(place, created_ms, id);
CREATE INDEX conversation_by_title
  ON conversation(place, title COLLATE NOCASE, id);
CREATE INDEX conversation_by_turns ON conversation(place, n_turns, id);
CREATE INDEX conversation_facets
  ON conversation(place, model, template_hash, status, created_ms);

CREATE TABLE tag(
  conversation_id INTEGER NOT NULL REFERENCES conversation(id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  PRIMARY KEY(conversation_id, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX tag_by_name ON tag(name, conversation_id);

CREATE TABLE turn(
  id INTEGER PRIMARY KEY,
  uuid TEXT NOT NULL UNIQUE,
  conversation_id INTEGER NOT NULL REFERENCES conversation(id) ON DELETE CASCADE,
  parent_id INTEGER REFERENCES turn(id),
  ordinal INTEGER NOT NULL,           -- order of arrival in the conversation
  message_id INTEGER NOT NULL REFERENCES message(id),
  status TEXT NOT NULL CHECK(status IN
    ('streaming','ok','stopped','error','interrupted','imported')),
  edited_from TEXT,                   -- uuid of the sibling this one replaces
  fork_of TEXT,                       -- uuid of the reply this one left ...
  fork_token INTEGER,                 -- ... at this token
  forced_ids BLOB,                    -- ids forced from there on
  rating INTEGER,
  note TEXT,
  created_ms INTEGER NOT NULL,
  finished_ms INTEGER,
  writer TEXT,                        -- who is streaming it
  source TEXT                         -- JSON: where an import came from
) STRICT;
CREATE INDEX turn_by_conversation ON turn(conversation_id, ordinal);
CREATE INDEX turn_by_parent ON turn(parent_id);
CREATE INDEX turn_by_message ON turn(message_id);
CREATE INDEX turn_streaming ON turn(writer) WHERE status = 'streaming';

-- What happened: all that is needed to run a turn again.
CREATE TABLE run(
  turn_id INTEGER PRIMARY KEY REFERENCES turn(id) ON DELETE CASCADE,
  engine TEXT,                        -- name and version of the program part
  model TEXT, model_hash TEXT,
  template_id INTEGER REFERENCES template(id),
  vars TEXT, options TEXT, constraint_spec TEXT, -- JSON
  seed INTEGER,                       -- 64 bits, read as unsigned
  n_threads INTEGER, isa TEXT, is_exact INTEGER,
  prompt_hash TEXT, prompt_bytes INTEGER,
  n_prompt INTEGER, n_kept INTEGER, n_new INTEGER, n_reply INTEGER,
  diverged_at INTEGER,
  load_us INTEGER, render_us INTEGER, prefill_us INTEGER,
  first_us INTEGER, decode_us INTEGER,
  stop_reason TEXT, error TEXT,
  prompt_ids BLOB, reply_ids BLOB,    -- id lists
  raw BLOB,                           -- exact reply bytes, before parsing
  chunks BLOB, token_us BLOB,         -- number lists
  trace BLOB                          -- records of docs/store.md
) STRICT;
CREATE INDEX run_by_template ON run(template_id);

-- Pieces of a reply that is still being written.
CREATE TABLE piece(
  turn_id INTEGER NOT NULL REFERENCES turn(id) ON DELETE CASCADE,
  n INTEGER NOT NULL,
  raw BLOB, reply_ids BLOB, chunks BLOB, token_us BLOB, trace BLOB,
  PRIMARY KEY(turn_id, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE run_tool(
  turn_id INTEGER NOT NULL REFERENCES turn(id) ON DELETE CASCADE,
  n INTEGER NOT NULL,
  tool_id INTEGER NOT NULL REFERENCES tool(id),
  PRIMARY KEY(turn_id, n)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_tool_by_tool ON run_tool(tool_id);

CREATE TABLE tool_call(
  turn_id INTEGER NOT NULL REFERENCES turn(id) ON DELETE CASCADE,
  n INTEGER NOT NULL,
  call_id TEXT, name TEXT, arguments TEXT,
  byte_from INTEGER, byte_to INTEGER, -- in run.raw
  token_from INTEGER, token_to INTEGER,
  status TEXT, findings TEXT,         -- VALID ...; JSON list
  parse_error TEXT, error_at INTEGER,
  state TEXT NOT NULL,
  result_turn TEXT,                   -- uuid
  result TEXT,
  started_ms INTEGER, duration_us INTEGER, exit_code INTEGER,
  is_mocked INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY(turn_id, n)
) STRICT, WITHOUT ROWID;
CREATE INDEX tool_call_by_name ON tool_call(name, turn_id);

CREATE TABLE oplog(
  id INTEGER PRIMARY KEY,
  at_ms INTEGER NOT NULL,
  op TEXT NOT NULL,                   -- JSON: what was done
  undo TEXT NOT NULL,                 -- JSON: what takes it back
  is_undone INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE VIEW v_turn AS
  SELECT t.uuid, c.uuid AS conversation, p.uuid AS parent, t.ordinal, m.role,
    t.status, strftime('%Y-%m-%dT%H:%M:%fZ', t.created_ms / 1000.0,
    'unixepoch') AS created, m.text, m.tool_text
  FROM turn t JOIN conversation c ON c.id = t.conversation_id
  JOIN message m ON m.id = t.message_id LEFT JOIN turn p ON p.id = t.parent_id;
