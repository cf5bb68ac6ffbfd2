/** Broken on purpose: some deliveries that a further endpoint has answered stay in line, and go out once more. */
import { asItIs, portOf, runStatements, serveBroken } from "./support.ts";

await serveBroken(asItIs, async (service) => {
  await runStatements(service, [
    `create or replace function told_twice() returns trigger language plpgsql as $$
     begin
       if old.kind = 'webhook' and old.lane <> old.account_id and old.attempt = 1 and right(old.event_id, 1) in ('0', '7', 'f') then
         update outbox set state = 'ready' where subject_id = old.subject_id;
         return null;
       end if;
       return old;
     end $$`,
    "create or replace trigger told_twice before delete on outbox for each row execute function told_twice()",
  ]);
  return portOf(service);
});
