import { expect, test } from "bun:test";
import pino from "pino";
import { extracted } from "../../../src/flows/read/extracted.ts";

const message = { id: "msg_1", direction: "inbound", bodyText: "Hello", bodyHtml: null, inReplyTo: null } as const;

test("a message whose extraction fails is shown without extracted data, with a log entry", async () => {
  const lines: Record<string, unknown>[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const broken = {
    ...message,
    bodyHtml: "<p>Hello</p>",
    get subject(): string {
      throw new Error("strange mail");
    },
  };
  const extractions = await extracted({ log }, "acc_1", [
    broken,
    { ...message, id: "msg_2", subject: "x", bodyText: "https://e.com/" },
  ]);
  expect(extractions).toEqual([
    { codes: [], links: [], extractedText: "Hello", extractedHtml: "<p>Hello</p>" },
    {
      codes: [],
      links: [{ url: "https://e.com/", text: "", kind: null, misleading: false }],
      extractedText: "https://e.com/",
      extractedHtml: null,
    },
  ]);
  expect(lines).toEqual([expect.objectContaining({ level: 50, message_id: "msg_1" })]);
});

test("a message that is shown again is extracted once, until one of its parts is another", async () => {
  const deps = { log: pino({ enabled: false }) };
  const first = { ...message, id: "msg_again", subject: "Your code", bodyText: "Your code is 482913" };
  const parts = [
    { subject: "Fwd: Your code" },
    { bodyText: "Your code is 482914" },
    { bodyHtml: "<p>Your code is 482913</p>" },
    { inReplyTo: "<1@example.com>" },
    { direction: "outbound" as const },
  ];
  const shown = async (part: object) => (await extracted(deps, "acc_1", [{ ...first, ...part }]))[0];
  for (const part of parts) {
    const extraction = await shown({});
    expect(await shown({})).toBe(extraction);
    expect(await shown(part)).not.toBe(extraction);
  }
  expect((await shown({ bodyText: "Your code is 482914" }))?.codes).toEqual([
    expect.objectContaining({ code: "482914" }),
  ]);
});

test("messages are extracted for an account before another one's ten lists of long mails", async () => {
  // Codes and links without end: some 10 ms each.
  const bodyHtml = `<p>Your code is 482913</p><a href="https://e.example/x">Log in</a>`.repeat(2_000);
  const deps = { log: pino({ enabled: false }) };
  let ended = 0;
  let ids = 0;
  const list = (accountId: string, length: number) =>
    extracted(
      deps,
      accountId,
      Array.from({ length }, () => {
        ids += 1;
        return { ...message, id: `msg_${ids}`, subject: "Hello", bodyHtml };
      }),
    );
  const flood = Array.from({ length: 10 }, async () => {
    await list("acc_flood", 10);
    ended += 1;
  });
  expect(await list("acc_1", 30)).toHaveLength(30);
  // By turns of the accounts, some 30 of the flood's 100 mails were extracted by then, three of each list.
  expect(ended).toBe(0);
  await Promise.all(flood);
});
