/** Broken on purpose: the inboxes of a domain go with it when it moves to another account. */
import { asItIs, runStatements, serveBroken, workingEarly } from "./support.ts";

await serveBroken(asItIs, async (service, config) => {
  await runStatements(service, [
    `create or replace function old_holder() returns trigger language plpgsql as $$
     begin
       update inboxes set domain_id = new.id
         where domain_id in (select id from domains where name = new.name and id <> new.id);
       return null;
     end $$`,
    `create or replace trigger old_holder after update on domains for each row
       when (old.status <> 'verified' and new.status = 'verified') execute function old_holder()`,
  ]);
  return workingEarly(service, config);
});
