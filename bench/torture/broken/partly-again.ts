/** Broken on purpose: if some recipients of a mail were postponed, it forgets which of the others have it. */
import { asItIs, portOf, runStatements, serveBroken } from "./support.ts";

await serveBroken(asItIs, async (service) => {
  await runStatements(service, [
    `create or replace function partly_again() returns trigger language plpgsql as $$
     begin
       update recipients set status = 'pending', provider_message_id = null
         where message_id = split_part(new.subject_id, '.', 1) and status = 'sent'
           and destination = coalesce(nullif(split_part(new.subject_id, '.', 2), '')::int, 0);
       return null;
     end $$`,
    `create or replace trigger partly_again after update on outbox for each row
       when (new.kind = 'relay' and old.state = 'running' and new.state <> 'running') execute function partly_again()`,
  ]);
  return portOf(service);
});
