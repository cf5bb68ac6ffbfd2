/**
 * The peer of bench/api.ts: the least that a server must do to answer the same question. No key, no errors, no
 * validation: one route, one prepared select, the same fields.
 */
import { Elysia } from "elysia";
import { clientOf } from "./support/client.ts";

const sql = clientOf(process.env.DATABASE_URL ?? "", { max: 10 });
const app = new Elysia().get("/v1/inboxes/:id", async ({ params }) => {
  const [row] =
    await sql`select id, username, external_id, created_at from inboxes where id = ${params.id} and deleted_at is null`;
  return {
    id: row?.id,
    address: `${row?.username}@inbox.localhost`,
    externalId: row?.external_id,
    createdAt: row?.created_at,
  };
});
const server = Bun.serve({ port: 0, fetch: app.fetch });
process.stdout.write(`${server.port}\n`);
