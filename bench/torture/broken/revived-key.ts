/** Broken on purpose: a revoked key goes on. */
import { asItIs, portOf, runStatements, serveBroken } from "./support.ts";

await serveBroken(asItIs, async (service) => {
  await runStatements(service, [
    `create or replace function revived_key() returns trigger language plpgsql as $$
     begin
       new.revoked_at := null;
       return new;
     end $$`,
    "create or replace trigger revived_key before update on api_keys for each row execute function revived_key()",
  ]);
  return portOf(service);
});
