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
