/** Broken on purpose: a domain fails at the first check that does not find its proof. */
import { asItIs, runStatements, serveBroken, workingEarly } from "./support.ts";

await serveBroken(asItIs, async (service, config) => {
  await runStatements(service, [
    `create or replace function hasty_domain() returns trigger language plpgsql as $$
     begin
       new.status := 'failed';
       new.failed_reason := 'proof_gone';
       return new;
     end $$`,
    `create or replace trigger hasty_domain before update on domains for each row
       when (old.missing_since is null and new.missing_since is not null) execute function hasty_domain()`,
  ]);
  return workingEarly(service, config);
});
