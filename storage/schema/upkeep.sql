-- Keeps facet up to date.  TEMP triggers belong to the writer's
-- connection: triggers that a database brings with it are never run.
CREATE TEMP TRIGGER conversation_in AFTER INSERT ON main.conversation BEGIN
  INSERT INTO facet VALUES
    (NEW.place, 0, NEW.model, 1), (NEW.place, 1, NEW.template_hash, 1),
    (NEW.place, 3, NEW.status, 1), (NEW.place, 5, '', 1),
    (NEW.place, 4, coalesce(strftime('%Y', NEW.created_ms / 1000, 'unixepoch'), ''), 1)
    ON CONFLICT DO UPDATE SET n = n + 1;
END;
CREATE TEMP TRIGGER conversation_out BEFORE DELETE ON main.conversation BEGIN
  UPDATE facet SET n = n - 1 WHERE place = OLD.place AND kind = 0 AND value = OLD.model;
  UPDATE facet SET n = n - 1 WHERE place = OLD.place AND kind = 1 AND value = OLD.template_hash;
  UPDATE facet SET n = n - 1 WHERE place = OLD.place AND kind = 2 AND value IN
    (SELECT name FROM tag WHERE conversation_id = OLD.id);
  UPDATE facet SET n = n - 1 WHERE place = OLD.place AND kind = 3 AND value = OLD.status;
  UPDATE facet SET n = n - 1 WHERE place = OLD.place AND kind = 4 AND value =
    coalesce(strftime('%Y', OLD.created_ms / 1000, 'unixepoch'), '');
  UPDATE facet SET n = n - 1 WHERE place = OLD.place AND kind = 5;
END;
CREATE TEMP TRIGGER conversation_model AFTER UPDATE OF model ON main.conversation
  WHEN OLD.model <> NEW.model BEGIN
  UPDATE facet SET n = n - 1 WHERE place = OLD.place AND kind = 0 AND value = OLD.model;
  INSERT INTO facet VALUES(OLD.place, 0, NEW.model, 1)
    ON CONFLICT DO UPDATE SET n = n + 1;
END;
CREATE TEMP TRIGGER conversation_template AFTER UPDATE OF template_hash
  ON main.conversation WHEN OLD.template_hash <> NEW.template_hash BEGIN
  UPDATE facet SET n = n - 1 WHERE place = OLD.place AND kind = 1 AND value = OLD.template_hash;
  INSERT INTO facet VALUES(OLD.place, 1, NEW.template_hash, 1)
    ON CONFLICT DO UPDATE SET n = n + 1;
END;
CREATE TEMP TRIGGER conversation_status AFTER UPDATE OF status ON main.conversation
  WHEN OLD.status <> NEW.status BEGIN
  UPDATE facet SET n = n - 1 WHERE place = OLD.place AND kind = 3 AND value = OLD.status;
  INSERT INTO facet VALUES(OLD.place, 3, NEW.status, 1)
    ON CONFLICT DO UPDATE SET n = n + 1;
END;
-- A place changes alone, in an UPDATE of its own.
CREATE TEMP TRIGGER conversation_place AFTER UPDATE OF place ON main.conversation
  WHEN OLD.place <> NEW.place BEGIN
  UPDATE facet SET n = n - 1 WHERE place = OLD.place AND kind = 0 AND value = OLD.model;
  UPDATE facet SET n = n - 1 WHERE place = OLD.place AND kind = 1 AND value = OLD.template_hash;
  UPDATE facet SET n = n - 1 WHERE place = OLD.place AND kind = 2 AND value IN
    (SELECT name FROM tag WHERE conversation_id = OLD.id);
  UPDATE facet SET n = n - 1 WHERE place = OLD.place AND kind = 3 AND value = OLD.status;
  UPDATE facet SET n = n - 1 WHERE place = OLD.place AND kind = 4 AND value =
    coalesce(strftime('%Y', OLD.created_ms / 1000, 'unixepoch'), '');
  UPDATE facet SET n = n - 1 WHERE place = OLD.place AND kind = 5;
  INSERT INTO facet VALUES
    (NEW.place, 0, NEW.model, 1), (NEW.place, 1, NEW.template_hash, 1),
    (NEW.place, 3, NEW.status, 1), (NEW.place, 5, '', 1),
    (NEW.place, 4, coalesce(strftime('%Y', NEW.created_ms / 1000, 'unixepoch'), ''), 1)
    ON CONFLICT DO UPDATE SET n = n + 1;
  INSERT INTO facet SELECT NEW.place, 2, name, 1 FROM tag
    WHERE conversation_id = NEW.id ON CONFLICT DO UPDATE SET n = n + 1;
END;
CREATE TEMP TRIGGER tag_in AFTER INSERT ON main.tag BEGIN
  INSERT INTO facet SELECT place, 2, NEW.name, 1 FROM conversation
    WHERE id = NEW.conversation_id ON CONFLICT DO UPDATE SET n = n + 1;
END;
-- Tags that go with their conversation were counted by conversation_out.
CREATE TEMP TRIGGER tag_out AFTER DELETE ON main.tag BEGIN
  UPDATE facet SET n = n - 1 WHERE kind = 2 AND value = OLD.name AND place =
    (SELECT place FROM conversation WHERE id = OLD.conversation_id);
END;
