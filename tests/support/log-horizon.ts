import { sql } from "drizzle-orm";
import { type Db, query } from "../../src/database/db.ts";

/**
 * Resolves once the log shows all committed events. It hides those newer than the oldest transaction on the server, and other
 * tests have transactions there.
 */
export async function untilLogShowsAll(db: Db): Promise<void> {
  for (;;) {
    const [row] = await query<{ isBehind: boolean }>(
      db,
      sql`select exists (select from events where written_by >= event_log_horizon()) as "isBehind"`,
    );
    if (!row?.isBehind) return;
    await Bun.sleep(2);
  }
}

/** Whether a request reads the event log. */
export function readsLog(method: string, path: string): boolean {
  const isRead = method === "GET" && /^\/v1\/events(?:\?|$)/.test(path);
  return isRead || (method === "POST" && /^\/v1\/webhooks\/[^/]+\/recover$/.test(path));
}
