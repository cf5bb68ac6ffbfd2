/** Broken on purpose: some deliveries to further endpoints are never inserted. */
import { asItIs, portOf, runStatements, serveBroken } from "./support.ts";

await serveBroken(asItIs, async (service) => {
  await runStatements(service, [
    `create or replace function forgotten() returns trigger language plpgsql as $$
     begin
       if new.kind = 'webhook' and new.lane <> new.account_id and right(new.event_id, 1) in ('0', '7', 'f') then return null; end if;
       return new;
     end $$`,
    "create or replace trigger forgotten before insert on outbox for each row execute function forgotten()",
  ]);
  return portOf(service);
});
