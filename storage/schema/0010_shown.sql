-- What lists show of each conversation, in small letters, 64 conversations a
-- row: a filter reads all of it.  storage/db/store_shown.c has the format.
DROP TABLE shown_text;
CREATE TABLE shown_page(
  page INTEGER PRIMARY KEY,           -- conversation.id / 64
  texts BLOB NOT NULL
) STRICT;
