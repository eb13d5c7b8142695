-- Log-likelihoods of token sequences under a model, by the hash of both: what
-- an experiment computed once is not computed again.
CREATE TABLE study_score(
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,           -- SHA-256 of model, arithmetic and tokens
  log_p BLOB NOT NULL                 -- floats, little-endian
) STRICT;
