-- What the program remembers of the file itself, by name: that it was given
-- its examples, for one.
CREATE TABLE mark(
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL,
  at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
