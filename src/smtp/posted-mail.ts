import { plainReader } from "./data-reader.ts";
import type { RefusedReason } from "./door.ts";
import type { MemoryBudget } from "./memory-budget.ts";
import { defaultLimits, type SmtpLimits } from "./smtp-limits.ts";
import { startTransfer, type Transfer } from "./transfer.ts";

/** Reads the mails that come by HTTP, within the memory and the time limits of those that come by SMTP. */
export interface PostedMails {
  /** Reads one mail. `network` is the one that its memory counts for; undefined for a mail that counts as a network of its own. */
  read(body: ReadableStream<Uint8Array> | null, network: string | undefined): Promise<PostedMail>;
  stop(): void;
}

/**
 * The bytes of a mail, which occupy memory until `release`, or the reason why there are none. `broken`: the client closed the connection in
 * the middle of the mail.
 */
export type PostedMail = { raw: Uint8Array; release(): void } | { refused: RefusedReason | "broken" | undefined };

export interface PostedMailOptions {
  maxBytes: number;
  memory: MemoryBudget;
  limits?: Partial<SmtpLimits>;
}

/** Half the time after which the HTTP server closes a connection without traffic. */
const memoryWaitMs = 30_000;

export function postedMails({ maxBytes, memory, limits: own }: PostedMailOptions): PostedMails {
  const limits = { ...defaultLimits(maxBytes), memoryWaitMs, ...own };
  const checks = new Set<(nowMs: number) => void>();
  const sweep = setInterval(() => {
    for (const check of checks) check(performance.now());
  }, limits.sweepMs);
  sweep.unref();

  /** Passes a body to `transfer`, until it ends or the mail is certain to be refused. */
  async function receive(
    transfer: Transfer,
    chunks: ReadableStreamDefaultReader<Uint8Array>,
  ): Promise<"timeout" | "broken" | undefined> {
    const late = Promise.withResolvers<"timeout">();
    const endsAtMs = performance.now() + limits.transactionMs;
    const check = (nowMs: number): void => {
      if (transfer.isTooSlow(nowMs) || nowMs >= endsAtMs) late.resolve("timeout");
    };
    checks.add(check);
    try {
      while (!transfer.isRefused) {
        const next = await Promise.race([chunks.read(), late.promise]);
        if (next === "timeout") return next;
        if (next.done) return undefined;
        transfer.take(Buffer.from(next.value.buffer, next.value.byteOffset, next.value.length));
        await new Promise<void>((readOn) => transfer.readOn(readOn));
      }
      return undefined;
    } catch {
      return "broken";
    } finally {
      checks.delete(check);
    }
  }

  return {
    async read(body, network) {
      const transfer = startTransfer({ limits, maxBytes, memory, network }, plainReader(maxBytes));
      const chunks = body?.getReader();
      const fault = chunks && (await receive(transfer, chunks));
      const result = fault === undefined ? transfer.result() : { fault: { reason: fault } };
      if ("raw" in result) return { raw: result.raw, release: transfer.release };
      transfer.release();
      chunks?.releaseLock();
      return { refused: result.fault.reason };
    },
    stop: () => clearInterval(sweep),
  };
}
