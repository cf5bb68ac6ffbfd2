/** Broken on purpose: some deliveries to further endpoints are never inserted. */
import { sql } from "drizzle-orm";
import { query } from "../../../src/database/db.ts";
import { asItIs, portOf, serveBroken } from "./support.ts";

await serveBroken(asItIs, async (service) => {
  const statements = [
    `create or replace function forgotten() returns trigger language plpgsql as $$
     begin
       if new.kind = 'webhook' and new.lane <> new.account_id and right(new.event_id, 1) in ('0', '7', 'f') then return null; end if;
       return new;
     end $$`,
    "create or replace trigger forgotten before insert on outbox for each row execute function forgotten()",
  ];
  for (const statement of statements) await query(service.deps.db.api, sql.raw(statement));
  return portOf(service);
});
