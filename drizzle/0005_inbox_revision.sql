ALTER TABLE "inboxes" ADD COLUMN "revision" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
-- Who writes the row without counting, as an older inboxd beside this one does, is counted here.
CREATE FUNCTION inboxes_next_revision() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  NEW.revision := OLD.revision + 1;
  RETURN NEW;
END $$;--> statement-breakpoint
CREATE TRIGGER inboxes_revision BEFORE UPDATE ON "inboxes" FOR EACH ROW
  WHEN (NEW.revision = OLD.revision) EXECUTE FUNCTION inboxes_next_revision();
