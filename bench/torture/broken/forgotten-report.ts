/** Broken on purpose: answers 250 to mail at a return path and drops it. */
import { asItIs, doorWithoutReports, listenBroken, serveBroken } from "./support.ts";

await serveBroken(asItIs, async ({ deps }, config) =>
  listenBroken(await doorWithoutReports(deps, config), deps, config),
);
