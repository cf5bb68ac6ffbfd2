import { writeFileSync } from "node:fs";
import type { DocumentFile, ReadDocument } from "../../domain/document.ts";
import type { MailReading } from "../authenticate/read-mail.ts";
import type { ProcessAnswer } from "./job-process.ts";
import { type ParserJob, type ParserResult, parseMail } from "./parse.ts";

/**
 * The process that parses large and suspicious mail and reads its signatures, converts long Markdown to HTML, and reads the text of
 * documents. It ends when its channel to the service closes, and ignores signals: a terminal or an init system signals the whole group, and
 * the service still needs it for mail that is arriving.
 */
process.on("message", async (job: ParserJob) => {
  if ("markdown" in job) return answer({ result: { html: await htmlOf(job.markdown) } });
  if ("document" in job) {
    answer({ result: { text: await textOf(job.document) } });
    return Bun.gc(true);
  }
  if ("signed" in job) {
    answer({ result: { reading: await signaturesIn(job.signed) } });
    return Bun.gc(true);
  }
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

async function signaturesIn(raw: Uint8Array): Promise<MailReading | undefined> {
  const { readMail } = await import("../authenticate/read-mail.ts");
  try {
    return readMail(raw);
  } catch {
    return undefined;
  }
}

/** Converts Markdown to HTML. The converter is loaded on first use, since a process that only parses mail does not need it. */
async function htmlOf(markdown: string): Promise<string | undefined> {
  const { markdownToHtml } = await import("../write/markdown.ts");
  return markdownToHtml(markdown);
}

/** Reads the text of a document. The readers, too, are loaded on first use. */
async function textOf(document: DocumentFile): Promise<ReadDocument | undefined> {
  const { readDocument } = await import("../documents/read-document.ts");
  return readDocument(document).catch(() => undefined);
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
