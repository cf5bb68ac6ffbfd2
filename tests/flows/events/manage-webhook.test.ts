import { expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../../src/database/db.ts";
import { enginesHere } from "../../support/engines.ts";
import { worldsOn } from "../../support/world-on.ts";

const [engine = "embedded"] = enginesHere();
const startWorld = worldsOn(engine);

test("A webhook that is deleted while its URL is set is created again, with a new secret", async () => {
  await using world = await startWorld();
  const set = () => world.api("/v1/webhook", { method: "PUT", body: { url: "http://127.0.0.1:8080/hook" } });
  const { body: first } = await set();
  // Deletes the webhook once, right after the check whether it exists, as another request would.
  for (const statement of deletedOnce) await query(world.service.deps.db.api, statement);
  const { status, body } = await set();
  expect([status, body.url]).toEqual([200, "http://127.0.0.1:8080/hook"]);
  expect(body.secret).toStartWith("whsec_");
  expect(body.secret).not.toBe(first.secret);
});

const deletedOnce = [
  sql`create table deletions (account_id text)`,
  sql`insert into deletions select account_id from endpoints`,
  sql`create function delete_once() returns trigger language plpgsql as $$ begin
        delete from endpoints using deletions where endpoints.account_id = deletions.account_id;
        delete from deletions;
        return null;
      end $$`,
  sql`create trigger delete_once after insert on endpoints for each statement execute function delete_once()`,
];
