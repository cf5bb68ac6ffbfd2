/** Broken on purpose: takes some removed threads for unread ones. */
import { asItIs, runStatements, serveBroken, workingEarly } from "./support.ts";

await serveBroken(asItIs, async (service, config) => {
  await runStatements(service, [
    `create or replace function miscounted_removal() returns trigger language plpgsql as $$
     begin
       new.unread_count := new.unread_count + 1;
       return new;
     end $$`,
    `create or replace trigger miscounted_removal before update on inboxes for each row
       when (new.removed_count > old.removed_count) execute function miscounted_removal()`,
  ]);
  return workingEarly(service, config);
});
