import { afterAll, expect, test } from "bun:test";
import fc from "fast-check";
import { mailParser } from "../../../src/mail/read/parse.ts";
import { storedNames } from "../../../src/standards/filename.ts";
import { filesIn, mailTrees, written } from "../../support/mail-trees.ts";

const parser = mailParser({ mailDomain: "inbox.localhost" });
afterAll(() => parser.close());

test("any tree of parts gives back its subject, text, names and bytes", async () => {
  await fc.assert(
    fc.asyncProperty(mailTrees, async (mail) => {
      const parsed = await parser.parse(written(mail));
      const files = filesIn(mail);
      expect(parsed.complete).toBe(true);
      expect(parsed.subject).toBe(mail.subject.trim());
      expect(parsed.bodyText).toBe(mail.text);
      const names = storedNames(files.map((one) => ({ filename: one.name, contentType: "application/x-any" })));
      expect(parsed.attachments.map(({ filename }) => filename)).toEqual(names);
      expect(parsed.attachments.map(({ bytes }) => Buffer.from(bytes).toString("hex"))).toEqual(
        files.map(({ bytes }) => Buffer.from(bytes).toString("hex")),
      );
    }),
    { numRuns: 300 },
  );
});

test("plain text is read alike with a letter beyond ASCII before it and without", async () => {
  const piece = fc.constantFrom(
    "\r\n",
    "\n",
    "\r",
    "\r\r\n",
    "word",
    " ",
    "\t",
    "\f",
    "\0",
    "--b",
    ".",
    "From ",
    "=20",
    "ü",
  );
  const head = fc.constantFrom(
    "",
    "Content-Type: text/plain; charset=UTF-8\r\n",
    "Content-Type: text/plain; format=flowed; delsp=yes\r\n",
    "Content-Disposition: inline\r\n",
    "Content-Type: text/plain; name=a.txt\r\nContent-Disposition: attachment\r\n",
    "Content-Transfer-Encoding: quoted-printable\r\n",
  );
  await fc.assert(
    fc.asyncProperty(head, fc.array(piece, { minLength: 1, maxLength: 20 }), async (headers, pieces) => {
      const body = pieces.join("");
      const here = await parser.parse(Buffer.from(`Subject: Hi\r\n${headers}\r\n${body}`));
      const there = await parser.parse(Buffer.from(`Subject: Hi\r\n${headers}\r\nüx\r\n${body}`));
      const files = ({ attachments }: typeof here) => attachments.map(({ bytes }) => Buffer.from(bytes).toString());
      expect(files(there)).toEqual(files(here).map((file) => `üx\r\n${file}`));
      if (there.attachments.length === 0) expect(there.bodyText).toBe(`üx\n${here.bodyText}`);
    }),
    { numRuns: 500 },
  );
});

test("any bytes give a value that can be stored", async () => {
  const piece = fc.oneof(
    fc.constantFrom(
      "\r\n",
      "\n",
      "\r",
      "\r\n\r\n",
      "--b",
      "--b--",
      "--",
      " ",
      "\t",
      ":",
      ";",
      "=",
      '"',
      "(",
      "\\",
      "<",
      ">",
      "@",
      "\0",
      "\xff",
    ),
    fc.constantFrom(
      "Content-Type: multipart/mixed; boundary=b\r\n\r\n",
      "Content-Type: text/html\r\n",
      "Content-Type: message/rfc822\r\n\r\n",
    ),
    fc.constantFrom(
      "Content-Transfer-Encoding: base64\r\n",
      "Content-Disposition: attachment; filename=",
      "Subject: ",
      "From: ",
      "References: <",
    ),
    fc.constantFrom("=?utf-8?Q?=00=FF?=", "=?utf-8?B?7aC9?=", "=?x?B??=", "charset=utf-7", "\r\nboundary*0=b"),
    fc.string({ unit: "binary-ascii", maxLength: 8 }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 40 }), async (pieces) => {
      const parsed = await parser.parse(Buffer.from(pieces.join(""), "latin1"));
      const { attachments, ...rest } = parsed;
      const strings = JSON.stringify([rest, attachments.map(({ bytes: _bytes, ...named }) => named)]);
      expect(strings).not.toMatch(/\\u0000|\\ud[89a-f]/i);
      expect(parsed.bodyText).not.toMatch(/[\0-\x08\x0b-\x1f]/);
      expect(parsed.messageId).not.toBe("");
      expect(parsed.subject + (parsed.from?.name ?? "") + parsed.to.join()).not.toMatch(/[\r\n]/);
      for (const { filename, bytes } of attachments) {
        expect(filename).not.toMatch(/[/\\\0\r\n\u202e]|^[.\s]*$/);
        expect(bytes).toBeInstanceOf(Uint8Array);
      }
    }),
    { numRuns: 1000 },
  );
});
