/**
 * `DATABASE_URL=postgres://… bun bench/seed-inbox.ts [messages]`: fills the database of a service that has been started once with
 * an inbox of a million messages in 200,000 threads, for its first account, and prints the id.
 */
import { clientOf } from "./support/client.ts";
import { seedInbox } from "./support/seed.ts";

const databaseUrl = process.env.DATABASE_URL;
if (databaseUrl === undefined) throw new Error("Cannot seed: DATABASE_URL is not set");
const sql = clientOf(databaseUrl, { max: 1, onnotice: () => undefined });
const [account] = await sql`select id from accounts order by id limit 1`;
const [{ count } = { count: 0 }] = await sql`select count(*)::int from inboxes`;
if (account === undefined) throw new Error("Cannot seed: the database has no account; start the service on it once");
const seeded = await seedInbox((statements) => sql.unsafe(statements), {
  accountId: account.id,
  number: Number(count) + 1,
  messages: Number(process.argv[2] ?? 1_000_000),
});
process.stdout.write(`${seeded.id}\n`);
await sql.end();
