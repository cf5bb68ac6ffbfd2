/** Broken on purpose: sends mail before its time. */
import { asItIs, portOf, runStatements, serveBroken } from "./support.ts";

await serveBroken(asItIs, async (service) => {
  await runStatements(service, [
    `create or replace function too_early() returns trigger language plpgsql as $$
     begin
       if new.state = 'scheduled' then new.send_at := least(new.send_at, now()); new.due_at := new.send_at; end if;
       return new;
     end $$`,
    "create or replace trigger too_early before insert or update on drafts for each row execute function too_early()",
  ]);
  return portOf(service);
});
