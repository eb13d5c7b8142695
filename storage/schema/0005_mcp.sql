-- What tool servers and confab said to each other in a conversation, in order.
CREATE TABLE mcp_message(
  conversation_id INTEGER NOT NULL REFERENCES conversation(id) ON DELETE CASCADE,
  n INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  server TEXT NOT NULL,
  direction TEXT NOT NULL,            -- out, in, stdout, stderr, note
  call INTEGER,                       -- number of the call it belongs to
  message TEXT NOT NULL,              -- as it was sent
  PRIMARY KEY(conversation_id, n)
) STRICT, WITHOUT ROWID;

-- Tools of servers as the user saw them last, and which may run unasked.
CREATE TABLE mcp_tool(
  server TEXT NOT NULL,
  tool TEXT NOT NULL,                 -- '': all tools of the server
  definition TEXT NOT NULL,           -- JSON as the server lists it
  approved_for TEXT,                  -- JSON: the command that was approved
  at_ms INTEGER NOT NULL,
  PRIMARY KEY(server, tool)
) STRICT, WITHOUT ROWID;
