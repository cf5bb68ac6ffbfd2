/**
 * The service as a process that dies by kill -9 around the commit of a batch of mails, of a report, or of a release from the quarantine:
 * `bun dying-receiver.ts before|after|before report|after report|before release|after release` with the service's environment. Prints its
 * ports once it listens.
 */
import { sql } from "drizzle-orm";
import pino from "pino";
import { readConfig } from "../../src/config.ts";
import { type Db, query } from "../../src/database/db.ts";
import { startService } from "../../src/service/start.ts";

const moment = process.argv[2];
const service = await startService(readConfig(process.env), pino({ level: "silent" }));
const { mail } = service.deps.db;
const { run, transaction } = mail;

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

// Reports about our mail, and mail that is released, are written behind a lock, in their own transaction.
mail.transaction = async (work) => {
  const result = await transaction(async (tx) => {
    const written = await work(tx);
    if (moment?.startsWith("before ") && (await isWritten(tx))) die();
    return written;
  });
  if (moment?.startsWith("after ") && (await isWritten(mail))) die();
  return result;
};

console.log(JSON.stringify({ smtpPort: service.smtp.port, apiUrl: service.apiUrl.href }));

async function hasMail(db: Db): Promise<boolean> {
  const [row] = await query<{ there: boolean }>(db, sql`select exists (select from messages) as there`);
  return row?.there === true;
}

/** Whether what the moment names is written: a report, or a message of a release. */
async function isWritten(db: Db): Promise<boolean> {
  const written = moment?.endsWith(" report")
    ? sql`select from reports`
    : sql`select from quarantine where message_id is not null`;
  const [row] = await query<{ there: boolean }>(db, sql`select exists (${written}) as there`);
  return row?.there === true;
}

function die(): void {
  process.kill(process.pid, "SIGKILL");
}
