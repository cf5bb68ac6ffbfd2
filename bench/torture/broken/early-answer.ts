/** Broken on purpose: answers 250 before the mail is in the database. */
import { asItIs, doorWithoutReports, listenBroken, serveBroken } from "./support.ts";

await serveBroken(asItIs, async ({ deps }, config) => {
  const door = await doorWithoutReports(deps, config);
  const impatient: typeof door = {
    ...door,
    async accept(mail) {
      void Bun.sleep(300)
        .then(() => door.accept(mail))
        .catch(() => undefined);
      return "stored";
    },
  };
  return listenBroken(impatient, deps, config);
});
