/** Broken on purpose: takes removed mail out of the usage. */
import { asItIs, runStatements, serveBroken, workingEarly } from "./support.ts";

await serveBroken(asItIs, async (service, config) => {
  await runStatements(service, [
    `create or replace function uncounted_removal() returns trigger language plpgsql as $$
     begin
       update usage_days set received = greatest(0, received - 1) where inbox_id = new.id;
       return new;
     end $$`,
    `create or replace trigger uncounted_removal before update on inboxes for each row
       when (new.removed_count > old.removed_count) execute function uncounted_removal()`,
  ]);
  return workingEarly(service, config);
});
