/** Broken on purpose: removes mail before its retention is over. */
import { asItIs, serveBroken, workingEarly } from "./support.ts";

await serveBroken(asItIs, (service, config) => workingEarly(service, config, 0));
