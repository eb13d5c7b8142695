-- What is listed, counted and written but not sent.
-- Counts of conversations by place and value, kept by triggers of the writer
-- (upkeep.sql).  kind: 0 model, 1 template hash, 2 tag, 3 status, 4 year of
-- creation, 5 all of them (value '').
CREATE TABLE facet(
  place INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  value TEXT NOT NULL,
  n INTEGER NOT NULL,
  PRIMARY KEY(place, kind, value)
) STRICT, WITHOUT ROWID;
INSERT INTO facet SELECT place, 0, model, count(*) FROM conversation GROUP BY 1, 3;
INSERT INTO facet SELECT place, 1, template_hash, count(*) FROM conversation GROUP BY 1, 3;
INSERT INTO facet SELECT place, 2, name, count(*) FROM tag JOIN conversation c
  ON c.id = conversation_id GROUP BY 1, 3;
INSERT INTO facet SELECT place, 3, status, count(*) FROM conversation GROUP BY 1, 3;
INSERT INTO facet SELECT place, 4,
  coalesce(strftime('%Y', created_ms / 1000, 'unixepoch'), ''), count(*)
  FROM conversation GROUP BY 1, 3;
INSERT INTO facet SELECT place, 5, '', count(*) FROM conversation GROUP BY 1;

-- Any part of the title that a list shows: the title, or the preview of a
-- conversation without one.
CREATE VIRTUAL TABLE shown_text USING fts5(shown, content='',
  tokenize='trigram');
INSERT INTO shown_text(rowid, shown) SELECT id, iif(title <> '', title, preview)
  FROM conversation;

-- For filters; facet took the place of counting over conversation_facets.
DROP INDEX conversation_facets;
CREATE INDEX conversation_by_model ON conversation(place, model);
CREATE INDEX conversation_by_template ON conversation(place, template_hash);
CREATE INDEX conversation_by_status ON conversation(place, status);

-- Ratings and notes, for filters and lists.
CREATE INDEX turn_rated ON turn(conversation_id, rating) WHERE rating IS NOT NULL;
CREATE INDEX turn_noted ON turn(conversation_id) WHERE note IS NOT NULL;

-- A message that was not sent yet.  The conversation may not be stored.
CREATE TABLE draft(
  conversation TEXT PRIMARY KEY,      -- uuid
  text TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  writer TEXT NOT NULL                -- the program that it was written in
) STRICT, WITHOUT ROWID;

-- Changes that are taken back together have one number; 0: alone.
ALTER TABLE oplog ADD COLUMN batch INTEGER NOT NULL DEFAULT 0;
