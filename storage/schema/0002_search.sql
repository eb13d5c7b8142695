-- The word indexes.  They hold no text of their own: what was put in is
-- derived from message and conversation again when it is taken out.
CREATE VIRTUAL TABLE message_words USING fts5(text, tool_text, content='',
  tokenize='unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE title_words USING fts5(title, content='',
  tokenize='unicode61 remove_diacritics 2');
