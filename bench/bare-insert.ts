/**
 * The peer of bench/sending.ts: the least that a server must do to take a mail over HTTP and have it on disk. A body that is
 * validated, one row, one commit; no key, no account, no limits, no thread, no outbox.
 */
import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { clientOf } from "./support/client.ts";

const sql = clientOf(process.env.DATABASE_URL ?? "", { max: 10, onnotice: () => undefined });
await sql`create table if not exists bare (id text primary key, recipient text, subject text, body text, at timestamptz)`;
const run = crypto.randomUUID();
let count = 0;
const app = new Elysia().post(
  "/v1/inboxes/:id/send",
  async ({ body: mail }) => {
    count += 1;
    const id = `${run}-${count}`;
    await sql`insert into bare values (${id}, ${mail.to}, ${mail.subject}, ${mail.body}, now())`;
    return { messageId: id, status: "pending" };
  },
  { body: Type.Object({ to: Type.String(), subject: Type.String(), body: Type.String() }) },
);
const server = Bun.serve({ port: 0, fetch: app.fetch });
process.stdout.write(`${server.port}\n`);
