/** Broken on purpose: a claim has no end, so that what a process had in hand when it died is nobody's for ever. */
import { sql } from "drizzle-orm";
import { query } from "../../../src/database/db.ts";
import { asItIs, portOf, serveBroken } from "./support.ts";

await serveBroken(asItIs, async (service) => {
  const statements = [
    `create or replace function no_lease() returns trigger language plpgsql as $$
     begin
       if new.state = 'running' then new.due_at := '2999-01-01'; end if;
       return new;
     end $$`,
    "create or replace trigger no_lease before update on outbox for each row execute function no_lease()",
  ];
  for (const statement of statements) await query(service.deps.db.api, sql.raw(statement));
  return portOf(service);
});
