/** Broken on purpose: writes down twice that an inbox is erased. */
import { asItIs, runStatements, serveBroken, workingEarly } from "./support.ts";

await serveBroken(asItIs, async (service, config) => {
  await runStatements(service, [
    `create or replace function erased_twice() returns trigger language plpgsql as $$
     begin
       new.id := new.id || '2';
       insert into audit_entries select new.*;
       return null;
     end $$`,
    `create or replace trigger erased_twice after insert on audit_entries for each row
       when (new.action = 'inbox.erased' and length(new.id) = 30) execute function erased_twice()`,
  ]);
  return workingEarly(service, config);
});
