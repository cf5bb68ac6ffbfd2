/** Broken on purpose: never removes mail. */
import { asItIs, portOf, serveBroken } from "./support.ts";

await serveBroken(asItIs, portOf);
