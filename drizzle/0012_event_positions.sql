-- An event's position, where its transaction took its own id before it waited for an inbox. Transactions that numbered
-- messages of that inbox meanwhile have later ids, and all of them have ended when this statement begins. So the position is
-- at least the id of the last transaction that has ended. It is never before the own id, so readers can't have gone past it.
-- Stable: all events of a statement get the same position, and their ids order them.
CREATE OR REPLACE FUNCTION event_log_place() RETURNS xid8 LANGUAGE sql STABLE
  RETURN ((greatest(pg_current_xact_id()::text::bigint, pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1)
    + event_log_shift())::text)::xid8;
