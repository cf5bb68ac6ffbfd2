/** Broken on purpose: the mail that waits in an account that is suspended goes out under the name of another. */
import { asItIs, portOf, runStatements, serveBroken } from "./support.ts";

await serveBroken(asItIs, async (service) => {
  await runStatements(service, [
    `create or replace function sending_all_the_same() returns trigger language plpgsql as $$
     begin
       if new.kind = 'relay' and new.account_id = (select id from accounts where name = 'suspended') then
         new.account_id := (select id from accounts where name = 'second');
       end if;
       return new;
     end $$`,
    `create or replace trigger sending_all_the_same before insert or update on outbox for each row
       execute function sending_all_the_same()`,
  ]);
  return portOf(service);
});
