/**
 * The service as a process that dies by kill -9 around the commit of a batch of mails:
 * `bun dying-receiver.ts before|after` with the service's environment. Prints its ports once it listens.
 */
import { sql } from "drizzle-orm";
import pino from "pino";
import { readConfig } from "../../src/config.ts";
import { type Db, query } from "../../src/database/db.ts";
import { startService } from "../../src/service/start.ts";

const moment = process.argv[2];
const service = await startService(readConfig(process.env), pino({ level: "silent" }));
const { mail } = service.deps.db;
const { run } = mail;

// Mail is written by one statement, which is its own transaction. One that is begun here, and not yet committed, is what the
// server has in hand when the process dies in the middle of it.
mail.run = async (text, values) => {
  if (!text.includes("insert into messages")) return run(text, values);
  if (moment === "before") {
    await mail.transaction(async (tx) => {
      await tx.run(text, values);
      if (await hasMail(tx)) die();
    });
  }
  const written = await run(text, values);
  if (moment === "after" && (await hasMail(mail))) die();
  return written;
};

console.log(JSON.stringify({ smtpPort: service.smtp.port, apiUrl: service.apiUrl.href }));

async function hasMail(db: Db): Promise<boolean> {
  const [row] = await query<{ there: boolean }>(db, sql`select exists (select from messages) as there`);
  return row?.there === true;
}

function die(): void {
  process.kill(process.pid, "SIGKILL");
}
