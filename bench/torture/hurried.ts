/** The service of the run. It is as it is, but for work that begins a day later than the run ends: that is done early. */
import { serve } from "../../src/commands/serve/serve.ts";
import { workEarly } from "./early-work.ts";

process.exit(await serve(workEarly));
