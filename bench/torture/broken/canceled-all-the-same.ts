/** Broken on purpose: sends mail that was canceled before it was due. */
import { asItIs, portOf, runStatements, serveBroken } from "./support.ts";

await serveBroken(asItIs, async (service) => {
  await runStatements(service, [
    `create or replace function canceled_all_the_same() returns trigger language plpgsql as $$
     begin
       if new.state = 'canceled' then new.state := 'scheduled'; new.due_at := new.send_at; end if;
       return new;
     end $$`,
    "create or replace trigger canceled_all_the_same before update on drafts for each row execute function canceled_all_the_same()",
  ]);
  return portOf(service);
});
