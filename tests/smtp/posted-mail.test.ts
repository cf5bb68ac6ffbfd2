import { describe, expect, test } from "bun:test";
import { mailMemory } from "../../src/smtp/listener.ts";
import { postedMails } from "../../src/smtp/posted-mail.ts";
import { defaultLimits, type SmtpLimits } from "../../src/smtp/smtp-limits.ts";
import { mailOf } from "../support/mail.ts";

const maxBytes = 1 << 20;

function reader(limits: Partial<SmtpLimits> = {}) {
  const memory = mailMemory({ ...defaultLimits(maxBytes), ...limits }, maxBytes);
  return { ...postedMails({ maxBytes, memory, limits: { sweepMs: 5, ...limits } }), memory };
}

/** A body of these chunks; without an end it stays open. */
function bodyOf(chunks: readonly (string | Uint8Array)[], { ends = true } = {}): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(Buffer.from(chunk as string));
      if (ends) controller.close();
    },
  });
}

/** The text of a mail, or why it was refused. */
async function textOf(mails: ReturnType<typeof reader>, body: ReadableStream<Uint8Array> | null): Promise<string> {
  const mail = await mails.read(body, "198.51.100.1");
  if ("refused" in mail) return `refused: ${mail.refused}`;
  mail.release();
  return Buffer.from(mail.raw).toString();
}

describe("a mail by HTTP", () => {
  test("is what its chunks are together, with each dot and line end as it came", async () => {
    const mails = reader();
    const raw = mailOf({ text: ".\r\n..\r\nbare\nLF\r\n.\r\n.\nlone\r.\rend" });
    for (const sizeBytes of [1, 2, 7, 4096, raw.length]) {
      const chunks = Array.from({ length: Math.ceil(raw.length / sizeBytes) }, (_, index) =>
        raw.slice(index * sizeBytes, (index + 1) * sizeBytes),
      );
      expect(await textOf(mails, bodyOf(chunks))).toBe(raw);
    }
    expect(await textOf(mails, null)).toBe("");
    expect(mails.memory.usedBytes).toBe(0);
    mails.stop();
  });

  test("that is too big is refused before its end", async () => {
    const mails = reader();
    const endless = bodyOf([new Uint8Array(maxBytes), "x"], { ends: false });
    expect(await textOf(mails, endless)).toBe("refused: too_big");
    expect(endless.locked).toBe(false);
    expect(mails.memory.usedBytes).toBe(0);
    mails.stop();
  });

  test("that comes too slowly is refused", async () => {
    const slow = reader({ dataGraceMs: 0, rateWindowMs: 20 });
    expect(await textOf(slow, bodyOf(["x"], { ends: false }))).toBe("refused: timeout");
    slow.stop();
    const long = reader({ transactionMs: 20 });
    expect(await textOf(long, bodyOf(["x"], { ends: false }))).toBe("refused: timeout");
    expect(long.memory.usedBytes).toBe(0);
    long.stop();
  });

  test("that breaks off is refused", async () => {
    const mails = reader();
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.error(new Error("the client has left"));
      },
    });
    expect(await textOf(mails, body)).toBe("refused: broken");
    mails.stop();
  });

  test("shares the memory with all other mails, and is refused for now if it waits too long for it", async () => {
    const mails = reader({ memoryBytes: maxBytes, memoryFreeBytes: 1024, memoryWaitMs: 20 });
    const first = await mails.read(bodyOf([new Uint8Array(maxBytes)]), "198.51.100.1");
    expect(mails.memory.usedBytes).toBe(maxBytes);
    // More mail of the same network waits, since this network holds all of the memory.
    const second = bodyOf([new Uint8Array(2048), new Uint8Array(2048)]);
    expect(await textOf(mails, second)).toBe("refused: out_of_memory");
    if ("raw" in first) first.release();
    expect(mails.memory.usedBytes).toBe(0);
    expect(await textOf(mails, bodyOf([new Uint8Array(2048), new Uint8Array(2048)]))).toHaveLength(4096);
    mails.stop();
  });
});
