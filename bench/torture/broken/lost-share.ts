/** Broken on purpose: sometimes does not count a new share of a file. */
import { asItIs, portOf, runStatements, serveBroken } from "./support.ts";

await serveBroken(asItIs, async (service) => {
  await runStatements(service, [
    `create or replace function lost_share() returns trigger language plpgsql as $$
     begin
       if new.shares > old.shares and right(new.source_id, 1) in ('0', '3', '7', 'f', 'k', 'r') then new.shares := old.shares; end if;
       return new;
     end $$`,
    "create or replace trigger lost_share before update on source_chunks for each row execute function lost_share()",
  ]);
  return portOf(service);
});
