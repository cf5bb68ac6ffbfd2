/** Broken on purpose: forgets that a quarantined mail was released, so that the next release makes another message. */
import { asItIs, portOf, runStatements, serveBroken } from "./support.ts";

await serveBroken(asItIs, async (service) => {
  await runStatements(service, [
    `create or replace function forget_release() returns trigger language plpgsql as
     $$ begin new.message_id := null; new.thread_id := null; return new; end $$`,
    "create or replace trigger forget_release before update on quarantine for each row execute function forget_release()",
  ]);
  return portOf(service);
});
