import { sql } from "drizzle-orm";
import { type Db, query } from "./db.ts";

/** Reads the clock of the database, which all processes on it share. */
export async function findDatabaseTime(db: Db): Promise<Date> {
  const [row] = await query<{ at: Date }>(db, sql`select clock_timestamp() as at`);
  if (row === undefined) throw new Error("Cannot read the database's clock: it returned no row");
  return row.at;
}
