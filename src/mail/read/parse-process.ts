import { writeFileSync } from "node:fs";
import type { ProcessAnswer } from "./job-process.ts";
import { type ParserJob, type ParserResult, parseMail } from "./parse.ts";

/**
 * The process that parses large and suspicious mail and converts long Markdown to HTML. It ends when its channel to the service closes, and
 * ignores signals: a terminal or an init system signals the whole group, and the service still needs it for mail that is arriving.
 */
process.on("message", async (job: ParserJob) => {
  if ("markdown" in job) return answer({ result: { html: await htmlOf(job.markdown) } });
  const { raw, options } = job;
  const mail = await parseMail(raw, options).catch(() => undefined);
  answer({ result: { mail } });
  // An idle process does not collect garbage, and a large mail leaves several times its size.
  if (raw.length > 1024 * 1024) Bun.gc(true);
});
process.on("disconnect", () => process.exit(0));
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => undefined);

preferForOomKiller();
answer({ ready: true });

/** Converts Markdown to HTML. The converter is loaded on first use, since a process that only parses mail does not need it. */
async function htmlOf(markdown: string): Promise<string | undefined> {
  const { markdownToHtml } = await import("../write/markdown.ts");
  return markdownToHtml(markdown);
}

/** Makes the kernel kill this process and not the service when memory runs out (proc(5), on Linux). */
function preferForOomKiller(): void {
  try {
    writeFileSync("/proc/self/oom_score_adj", "1000");
  } catch {}
}

function answer(message: ProcessAnswer<ParserResult>): void {
  process.send?.(message);
}
