/** Broken on purpose: keeps quarantined mail for three seconds. */
import { portOf, serveBroken } from "./support.ts";

await serveBroken(async (config) => ({ ...config, quarantineDays: 3 / 86_400 }), portOf);
