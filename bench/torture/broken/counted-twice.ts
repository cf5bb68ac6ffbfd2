/** Broken on purpose: sometimes forgets how far the mail of an inbox is counted. */
import { asItIs, portOf, runStatements, serveBroken } from "./support.ts";

await serveBroken(asItIs, async (service) => {
  await runStatements(service, [
    `create or replace function counted_twice() returns trigger language plpgsql as $$
     begin
       if new.seq > old.seq and new.seq % 5 = 0 then new.seq := old.seq; end if;
       return new;
     end $$`,
    "create or replace trigger counted_twice before update on counted_inboxes for each row execute function counted_twice()",
  ]);
  return portOf(service);
});
