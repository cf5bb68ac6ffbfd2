import { writeFileSync } from "node:fs";
import type { ProcessAnswer } from "./job-process.ts";
import { type ParseJob, type ParseResult, parseMail } from "./parse.ts";

/**
 * The process in which big and suspicious mail is parsed. It ends with its channel to the service, and by nothing else that the
 * service lives through: a terminal and an init system signal the whole group, while mail that is being received still wants it.
 */
process.on("message", async ({ raw, options }: ParseJob) => {
  const mail = await parseMail(raw, options).catch(() => undefined);
  answer({ result: mail });
  // An idle process collects nothing, and what a big mail leaves behind is several times its size.
  if (raw.length > 1024 * 1024) Bun.gc(true);
});
process.on("disconnect", () => process.exit(0));
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => undefined);

offerToDieFirst();
answer({ ready: true });

/** When memory runs out the kernel shall take this process and not the service; proc(5), where there is one. */
function offerToDieFirst(): void {
  try {
    writeFileSync("/proc/self/oom_score_adj", "1000");
  } catch {}
}

function answer(message: ProcessAnswer<ParseResult>): void {
  process.send?.(message);
}
