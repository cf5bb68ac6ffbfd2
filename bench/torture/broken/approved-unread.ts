/** Broken on purpose: an approval counts for all later versions. */
import { asItIs, portOf, runStatements, serveBroken } from "./support.ts";

await serveBroken(asItIs, async (service) => {
  await runStatements(service, [
    `create or replace function approved_unread() returns trigger language plpgsql as $$
     begin
       if new.state = 'awaiting_approval' and old.state = 'scheduled' then
         new.state := 'scheduled';
         new.due_at := now();
         new.approval := old.approval || jsonb_build_object('approvedVersion', new.version);
       end if;
       return new;
     end $$`,
    "create or replace trigger approved_unread before update on drafts for each row execute function approved_unread()",
  ]);
  return portOf(service);
});
