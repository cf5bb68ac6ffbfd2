import { type ParseJob, type ParseResult, parseMail } from "./parse.ts";
import type { WorkerAnswer } from "./worker-pool.ts";

/** The thread in which big and suspicious mail is parsed: its own entry of `bun build --compile`. */
declare const self: Worker;

self.onmessage = async ({ data }: MessageEvent<ParseJob>) => {
  const mail = await parseMail(data.raw, data.options).catch(() => undefined);
  answer({ result: mail }, buffersOf(mail));
  // An idle thread collects nothing, and what a big mail leaves behind is several times its size.
  if (data.raw.length > 1024 * 1024) Bun.gc(true);
};

answer({ ready: true }, []);

function answer(message: WorkerAnswer<ParseResult>, transfer: ArrayBuffer[]): void {
  self.postMessage(message, transfer);
}

/** Attachments go back without a copy. */
function buffersOf(mail: ParseResult): ArrayBuffer[] {
  const buffers = new Set<ArrayBuffer>();
  for (const { bytes } of mail?.attachments ?? []) if (bytes.buffer instanceof ArrayBuffer) buffers.add(bytes.buffer);
  return [...buffers];
}
