/** Another process on a data directory: `bun embedded-process.ts write|open|hold DIRECTORY [FIRST_ID]`. */
import { sql } from "drizzle-orm";
import { askHolder, type Database, DataDirectoryInUse, openDatabase, query } from "../../src/store/db.ts";

const [task = "", dataDir = "", firstId = "0"] = process.argv.slice(2);

if (task === "write") await write(await openDatabase({ dataDir }));
else console.log(JSON.stringify(await tryToOpen()));

async function write(db: Database): Promise<never> {
  db.control?.serve(() => new Response("writing"));
  await query(db.api, sql`create table if not exists kept (id int)`);
  for (let id = Number(firstId); ; id++) {
    await query(db.api, sql`insert into kept values (${id})`);
    process.stdout.write(`${id}\n`);
  }
}

async function tryToOpen(): Promise<{ opened: string; answer?: string }> {
  try {
    const db = await openDatabase({ dataDir });
    // Long enough for all who started together to have tried.
    if (task === "hold") await Bun.sleep(2_000);
    await db.close();
    return { opened: "yes" };
  } catch (error) {
    if (!(error instanceof DataDirectoryInUse)) throw error;
    const answer = await askHolder(dataDir, "/ask").then(
      (response) => response.text(),
      () => "",
    );
    return { opened: error.name, answer };
  }
}
