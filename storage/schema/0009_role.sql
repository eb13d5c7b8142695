-- Finds the conversations with a message of a rare role, such as "tool".  Those
-- of the user and of the model are in nearly every conversation and need none.
CREATE INDEX message_by_role ON message(role)
  WHERE role NOT IN ('user', 'assistant');
