/** Broken on purpose: forgets which mail was deleted, so that a copy is stored again. */
import { asItIs, portOf, runStatements, serveBroken } from "./support.ts";

await serveBroken(asItIs, async (service) => {
  await runStatements(service, [
    `create or replace function forget_removed() returns trigger language plpgsql as $$ begin return null; end $$`,
    `create or replace trigger forget_removed before insert on removed_messages for each row execute function forget_removed()`,
  ]);
  return portOf(service);
});
