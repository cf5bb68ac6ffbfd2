/** Broken on purpose: a key that is bound to an inbox is stored as one for the whole account. */
import { asItIs, portOf, runStatements, serveBroken } from "./support.ts";

await serveBroken(asItIs, async (service) => {
  await runStatements(service, [
    `create or replace function wide_key() returns trigger language plpgsql as $$
     begin
       new.inbox_id := null;
       return new;
     end $$`,
    "create or replace trigger wide_key before insert on api_keys for each row execute function wide_key()",
  ]);
  return portOf(service);
});
