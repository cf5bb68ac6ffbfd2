/** Broken on purpose: claims never end, so that the work of a dead process is never done. */
import { asItIs, portOf, runStatements, serveBroken } from "./support.ts";

await serveBroken(asItIs, async (service) => {
  await runStatements(service, [
    `create or replace function no_lease() returns trigger language plpgsql as $$
     begin
       if new.state = 'running' then new.due_at := '2999-01-01'; end if;
       return new;
     end $$`,
    "create or replace trigger no_lease before update on outbox for each row execute function no_lease()",
  ]);
  return portOf(service);
});
