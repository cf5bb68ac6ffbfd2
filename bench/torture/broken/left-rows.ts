/** Broken on purpose: leaves the threads of an inbox that is erased. */
import { asItIs, runStatements, serveBroken, workingEarly } from "./support.ts";

await serveBroken(asItIs, async (service, config) => {
  await runStatements(service, [
    `create or replace function left_rows() returns trigger language plpgsql as $$
     begin
       if exists (select from inboxes where id = old.inbox_id and deleted_at is not null) then return null; end if;
       return old;
     end $$`,
    "create or replace trigger left_rows before delete on threads for each row execute function left_rows()",
  ]);
  return workingEarly(service, config);
});
