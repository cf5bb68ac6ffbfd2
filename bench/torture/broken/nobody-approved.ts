/** Broken on purpose: some mail that waits for a person is approved by itself. */
import { asItIs, portOf, runStatements, serveBroken } from "./support.ts";

await serveBroken(asItIs, async (service) => {
  await runStatements(service, [
    `create or replace function nobody_approved() returns trigger language plpgsql as $$
     begin
       if new.state = 'awaiting_approval' and right(new.id, 1) in ('0', '7', 'f', 'm', 't') then
         new.state := 'scheduled';
         new.due_at := now();
         new.approval := new.approval || jsonb_build_object('decision', 'approved', 'approvedVersion', new.version);
       end if;
       return new;
     end $$`,
    "create or replace trigger nobody_approved before insert or update on drafts for each row execute function nobody_approved()",
  ]);
  return portOf(service);
});
