/** Broken on purpose: forgets the mail that waits in an account when it is suspended. */
import { asItIs, portOf, runStatements, serveBroken } from "./support.ts";

await serveBroken(asItIs, async (service) => {
  await runStatements(service, [
    `create or replace function emptied_suspension() returns trigger language plpgsql as $$
     begin
       delete from outbox where account_id = new.id and kind = 'relay';
       return new;
     end $$`,
    `create or replace trigger emptied_suspension before update on accounts for each row
       when (old.suspended is not null and new.suspended is null) execute function emptied_suspension()`,
  ]);
  return portOf(service);
});
