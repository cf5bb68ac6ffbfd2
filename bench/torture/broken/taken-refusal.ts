/** Broken on purpose: a policy that refuses mail quarantines it. */
import { asItIs, portOf, runStatements, serveBroken } from "./support.ts";

await serveBroken(asItIs, async (service) => {
  await runStatements(service, [
    `create or replace function soften() returns trigger language plpgsql as
     $$ begin new.inbound := jsonb_set(new.inbound, '{blocked}', '"quarantine"'); return new; end $$`,
    "create or replace trigger soften before insert or update on policies for each row execute function soften()",
  ]);
  return portOf(service);
});
