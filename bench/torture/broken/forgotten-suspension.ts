/** Broken on purpose: answers that an account is suspended, and does not suspend it. */
import { asItIs, portOf, runStatements, serveBroken } from "./support.ts";

await serveBroken(asItIs, async (service) => {
  await runStatements(service, [
    `create or replace function forgotten_suspension() returns trigger language plpgsql as $$
     begin
       new.suspended := null;
       return new;
     end $$`,
    `create or replace trigger forgotten_suspension before update on accounts for each row
       execute function forgotten_suspension()`,
  ]);
  return portOf(service);
});
