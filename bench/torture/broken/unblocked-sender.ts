/** Broken on purpose: a rule that is added blocks nobody. */
import { asItIs, portOf, runStatements, serveBroken } from "./support.ts";

await serveBroken(asItIs, async (service) => {
  await runStatements(service, [
    `create or replace function misspell() returns trigger language plpgsql as
     $$ begin new.pattern := 'x' || new.pattern; return new; end $$`,
    "create or replace trigger misspell before insert on rules for each row execute function misspell()",
  ]);
  return portOf(service);
});
