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
const session = mail._.session;
const prepareQuery = session.prepareQuery.bind(session);

// Mail is written by one statement, which is its own transaction. One that is begun here, and not yet committed, is what the
// server has in hand when the process dies in the middle of it.
session.prepareQuery = ((...[asked, ...rest]: Parameters<typeof prepareQuery>) => {
  const prepared = prepareQuery(asked, ...rest);
  if (!asked.sql.includes("insert into messages")) return prepared;
  return Object.assign(Object.create(prepared), {
    async execute() {
      if (moment === "before") {
        await mail.transaction(async (tx) => {
          await tx._.session.prepareQuery(asked, ...rest).execute();
          if (await hasMail(tx)) die();
        });
      }
      const written = await prepared.execute();
      if (moment === "after" && (await hasMail(mail))) die();
      return written;
    },
  });
}) as typeof session.prepareQuery;

console.log(JSON.stringify({ smtpPort: service.smtp.port, apiUrl: service.apiUrl.href }));

async function hasMail(db: Db): Promise<boolean> {
  const [row] = await query<{ there: boolean }>(db, sql`select exists (select from messages) as there`);
  return row?.there === true;
}

function die(): void {
  process.kill(process.pid, "SIGKILL");
}
