import { eq } from "drizzle-orm";
import type { Db } from "./db.ts";
import { settings } from "./schema.ts";

/** The kept value of a setting, or `proposed` when it is the first: of two processes that propose, both get one value. */
export async function findOrInsertSetting(db: Db, name: string, proposed: string): Promise<string> {
  await db.insert(settings).values({ name, value: proposed }).onConflictDoNothing();
  const [row] = await db.select({ value: settings.value }).from(settings).where(eq(settings.name, name));
  return row?.value ?? proposed;
}
