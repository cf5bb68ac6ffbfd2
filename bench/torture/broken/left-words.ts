/** Broken on purpose: leaves the words of deleted mail in the search index. */
import { asItIs, portOf, runStatements, serveBroken } from "./support.ts";

await serveBroken(asItIs, async (service) => {
  await runStatements(service, [
    `create or replace function keep_words() returns trigger language plpgsql as $$ begin return null; end $$`,
    `create or replace trigger keep_words before delete on message_search for each row execute function keep_words()`,
  ]);
  return portOf(service);
});
