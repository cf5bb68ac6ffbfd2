import { sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";

/** The id of the service, made once: all processes on one database are one service. */
export const serviceIdSetting = "service_id";

/** Reads a setting, or inserts `proposed` if there is none. Two processes that insert at the same time get the same value. */
export async function findOrInsertSetting(db: Db, name: string, proposed: string): Promise<string> {
  await query(db, sql`insert into settings (name, value) values (${name}, ${proposed}) on conflict do nothing`);
  return (await findSetting(db, name)) ?? proposed;
}

export async function findSetting(db: Db, name: string): Promise<string | undefined> {
  const [setting] = await query<{ value: string }>(db, sql`select value from settings where name = ${name}`);
  return setting?.value;
}

export async function insertOrChangeSetting(db: Db, name: string, value: string): Promise<void> {
  await query(
    db,
    sql`insert into settings (name, value) values (${name}, ${value})
        on conflict (name) do update set value = excluded.value`,
  );
}

export async function removeSetting(db: Db, name: string): Promise<void> {
  await query(db, sql`delete from settings where name = ${name}`);
}
