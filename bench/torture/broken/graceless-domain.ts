/** Broken on purpose: a domain whose proof is gone fails without its time of grace. */
import { asItIs, runStatements, serveBroken, workingEarly } from "./support.ts";

await serveBroken(asItIs, async (service, config) => {
  await runStatements(service, [
    `create or replace function graceless_domain() returns trigger language plpgsql as $$
     begin
       new.status := 'failed';
       new.failed_reason := 'proof_gone';
       return new;
     end $$`,
    `create or replace trigger graceless_domain before update on domains for each row
       when (old.status <> 'failing' and new.status = 'failing') execute function graceless_domain()`,
  ]);
  return workingEarly(service, config);
});
