/** Broken on purpose: drops mail that a rule blocks, a moment after it was quarantined. */
import { asItIs, portOf, runStatements, serveBroken } from "./support.ts";

await serveBroken(asItIs, async (service) => {
  await runStatements(service, [
    `create or replace function drop_blocked() returns trigger language plpgsql as
     $$ begin delete from quarantine where id = new.id; return null; end $$`,
    "create or replace trigger drop_blocked after insert on quarantine for each row execute function drop_blocked()",
  ]);
  return portOf(service);
});
