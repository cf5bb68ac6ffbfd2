import { eq } from "drizzle-orm";
import type { Db } from "../../database/db.ts";
import { settings } from "../schema.ts";

/** The kept value of a setting, or `proposed` when it is the first: of two processes that propose, both get one value. */
export async function findOrInsertSetting(db: Db, name: string, proposed: string): Promise<string> {
  await db.insert(settings).values({ name, value: proposed }).onConflictDoNothing();
  const [row] = await db.select({ value: settings.value }).from(settings).where(eq(settings.name, name));
  return row?.value ?? proposed;
}

export async function findSetting(db: Db, name: string): Promise<string | undefined> {
  const [row] = await db.select({ value: settings.value }).from(settings).where(eq(settings.name, name));
  return row?.value;
}

export async function insertOrChangeSetting(db: Db, name: string, value: string): Promise<void> {
  await db.insert(settings).values({ name, value }).onConflictDoUpdate({ target: settings.name, set: { value } });
}
