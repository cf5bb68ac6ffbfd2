import { writeFileSync } from "node:fs";
import type { ProcessAnswer } from "./job-process.ts";
import { type ParserJob, type ParserResult, parseMail } from "./parse.ts";

/**
 * The process in which big and suspicious mail is parsed, and long Markdown made HTML. It ends with its channel to the service, and by nothing else that the
 * service lives through: a terminal and an init system signal the whole group, while mail that is being received still wants it.
 */
process.on("message", async (job: ParserJob) => {
  if ("markdown" in job) return answer({ result: { html: await htmlOf(job.markdown) } });
  const { raw, options } = job;
  const mail = await parseMail(raw, options).catch(() => undefined);
  answer({ result: { mail } });
  // An idle process collects nothing, and what a big mail leaves behind is several times its size.
  if (raw.length > 1024 * 1024) Bun.gc(true);
});
process.on("disconnect", () => process.exit(0));
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => undefined);

offerToDieFirst();
answer({ ready: true });

/** What makes it is loaded when it is first asked for: mail needs none of it. */
async function htmlOf(markdown: string): Promise<string | undefined> {
  const { markdownToHtml } = await import("../write/markdown.ts");
  return markdownToHtml(markdown);
}

/** When memory runs out the kernel shall take this process and not the service; proc(5), where there is one. */
function offerToDieFirst(): void {
  try {
    writeFileSync("/proc/self/oom_score_adj", "1000");
  } catch {}
}

function answer(message: ProcessAnswer<ParserResult>): void {
  process.send?.(message);
}
