/** Broken on purpose: calls a forged sender proven. */
import { asItIs, portOf, runStatements, serveBroken } from "./support.ts";

await serveBroken(asItIs, async (service) => {
  await runStatements(service, [
    `create or replace function believe() returns trigger language plpgsql as
     $$ begin new.authentication := jsonb_set(new.authentication, '{verdict}', '"pass"'); return new; end $$`,
    `create or replace trigger believe before insert on messages
     for each row when (new.authentication ->> 'verdict' = 'fail') execute function believe()`,
  ]);
  return portOf(service);
});
