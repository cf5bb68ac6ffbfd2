/** `inboxd serve` whose processes (PROCESSES) are killed when they have not answered for 8 seconds instead of 30. */
import { serve } from "../../src/commands/serve/serve.ts";

process.exit(await serve(undefined, { everyMs: 200, questions: 40 }));
