/**
 * The service as a process that dies by kill -9 around the commit of a batch of mails:
 * `bun dying-receiver.ts before|after` with the service's environment. Prints its ports once it listens.
 */
import { sql } from "drizzle-orm";
import pino from "pino";
import { readConfig } from "../../src/config.ts";
import { startService } from "../../src/service.ts";
import { type Db, query } from "../../src/store/db.ts";

const moment = process.argv[2];
const service = await startService(readConfig(process.env), pino({ level: "silent" }));
const { mail } = service.deps.db;
const transaction = mail.transaction.bind(mail) as typeof mail.transaction;

// On the embedded engine every transaction passes here: only one that has brought mail is meant.
mail.transaction = async <T>(work: (tx: Parameters<Parameters<Db["transaction"]>[0]>[0]) => Promise<T>): Promise<T> => {
  const result = await transaction(async (tx) => {
    const done = await work(tx);
    if (moment === "before" && (await hasMail(tx))) die();
    return done;
  });
  if (moment === "after" && (await hasMail(mail))) die();
  return result;
};

console.log(JSON.stringify({ smtpPort: service.smtp.port, apiUrl: service.apiUrl.href }));

async function hasMail(db: Db): Promise<boolean> {
  const [row] = await query<{ there: boolean }>(db, sql`select exists (select from messages) as there`);
  return row?.there === true;
}

function die(): void {
  process.kill(process.pid, "SIGKILL");
}
