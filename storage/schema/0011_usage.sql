-- What hosted models report of a reply besides its sums: tokens of the prompt
-- written to a cache, and tokens of the reply that were thinking.
ALTER TABLE exchange ADD COLUMN n_written INTEGER;
ALTER TABLE exchange ADD COLUMN n_thinking INTEGER;
