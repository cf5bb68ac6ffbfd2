-- Ids of transactions are a cluster's own: a database that was moved to another, by a dump, begins again at small ones there.
-- Stable, not immutable: a plan that was kept would go on with a shift that has changed.
CREATE FUNCTION event_log_shift() RETURNS bigint LANGUAGE sql STABLE RETURN 0::bigint;--> statement-breakpoint
CREATE FUNCTION event_log_place() RETURNS xid8 LANGUAGE sql VOLATILE
  RETURN ((pg_current_xact_id()::text::bigint + event_log_shift())::text)::xid8;--> statement-breakpoint
CREATE FUNCTION event_log_horizon() RETURNS xid8 LANGUAGE sql STABLE
  RETURN ((pg_snapshot_xmin(pg_current_snapshot())::text::bigint + event_log_shift())::text)::xid8;--> statement-breakpoint
ALTER TABLE "events" ALTER COLUMN "written_by" SET DEFAULT event_log_place();
