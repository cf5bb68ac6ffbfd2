/** Another process on a data directory: `bun embedded-process.ts write|open|hold|say|name DIRECTORY [FIRST_ID]`. */
import { mkdirSync, renameSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { type Database, DataDirectoryInUse, openDatabase, query } from "../../src/database/db.ts";

const [task = "", dataDir = "", firstId = "0"] = process.argv.slice(2);

if (task === "write") await write(await openDatabase({ dataDir }));
else if (task === "name") nameThePlace();
else if (task === "say") await openDatabase({ dataDir }).catch((error) => console.log(String(error)));
else await tryToOpen();

async function write(db: Database): Promise<never> {
  await query(db.api, sql`create table if not exists kept (id int)`);
  for (let id = Number(firstId); ; id++) {
    await query(db.api, sql`insert into kept values (${id})`);
    process.stdout.write(`${id}\n`);
  }
}

/** Repeats what a first start does with its cluster's directory. */
function nameThePlace(): void {
  for (let round = 0; round < 50_000; round++) {
    mkdirSync(join(dataDir, "pg.unfinished"), { recursive: true });
    renameSync(join(dataDir, "pg.unfinished"), join(dataDir, "pg"));
    rmdirSync(join(dataDir, "pg"));
  }
}

/** Prints the result in one line; `hold` then keeps the directory until standard input ends. */
async function tryToOpen(): Promise<void> {
  try {
    const db = await openDatabase({ dataDir });
    console.log(JSON.stringify({ opened: "yes" }));
    if (task === "hold") await Bun.stdin.text();
    await db.close();
  } catch (error) {
    if (!(error instanceof DataDirectoryInUse)) throw error;
    console.log(JSON.stringify({ opened: error.name }));
  }
}
