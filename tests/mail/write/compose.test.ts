import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import PostalMime from "postal-mime";
import type { OutgoingMail } from "../../../src/domain/message.ts";
import { composeMail } from "../../../src/mail/write/compose.ts";
import { needsSmtpUtf8 } from "../../../src/mail/write/header.ts";
import { cleanText, oneLine } from "../../../src/standards/text.ts";
import { cpuMs } from "../../support/cpu.ts";
import smugglingSequences from "../fixtures/smuggling-sequences.json" with { type: "json" };

const plain: OutgoingMail = {
  messageId: "0198@inbox.example",
  date: new Date("2026-03-03T14:05:06.789Z"),
  from: { name: "Ada", address: "ada@inbox.example" },
  to: [{ address: "jane@example.com" }],
  cc: [],
  replyTo: undefined,
  subject: "Hello",
  bodyText: "Hi Jane,\n\nhow are you?\n",
  bodyHtml: undefined,
  inReplyTo: undefined,
  references: [],
  autoSubmitted: undefined,
  headers: [],
  attachments: [],
};

describe("a mail on the wire", () => {
  test("is only text without HTML", () => {
    expect(wire(plain)).toBe(
      [
        "From: Ada <ada@inbox.example>",
        "To: jane@example.com",
        "Subject: Hello",
        "Message-ID: <0198@inbox.example>",
        "Date: Tue, 03 Mar 2026 14:05:06 +0000",
        "MIME-Version: 1.0",
        "Content-Type: text/plain; charset=utf-8",
        "Content-Transfer-Encoding: quoted-printable",
        "",
        "Hi Jane,",
        "",
        "how are you?",
        "",
      ].join("\r\n"),
    );
  });

  test("is text and HTML in alternative when it has both, the richer last (RFC 2046 §5.1.4)", () => {
    const mail = wire({
      ...plain,
      bodyHtml: "<p>Hi</p>",
      replyTo: "team@inbox.example",
      inReplyTo: "b@e.com",
      references: ["a@e.com", "b@e.com"],
    });
    const [boundary = ""] = mail.match(/(?<=boundary=)\S+/) ?? [];
    expect(boundary).toMatch(/^inboxd-[0-9a-f]{32}$/);
    expect(mail).toBe(
      [
        "From: Ada <ada@inbox.example>",
        "To: jane@example.com",
        "Reply-To: team@inbox.example",
        "Subject: Hello",
        "Message-ID: <0198@inbox.example>",
        "In-Reply-To: <b@e.com>",
        "References: <a@e.com> <b@e.com>",
        "Date: Tue, 03 Mar 2026 14:05:06 +0000",
        "MIME-Version: 1.0",
        "Content-Transfer-Encoding: 7bit",
        `Content-Type: multipart/alternative; boundary=${boundary}`,
        "",
        `--${boundary}`,
        "Content-Type: text/plain; charset=utf-8",
        "Content-Transfer-Encoding: quoted-printable",
        "",
        "Hi Jane,",
        "",
        "how are you?",
        "",
        `--${boundary}`,
        "Content-Type: text/html; charset=utf-8",
        "Content-Transfer-Encoding: quoted-printable",
        "",
        "<p>Hi</p>",
        "",
        `--${boundary}--`,
        "",
      ].join("\r\n"),
    );
  });

  test("is the same each time, so that a retry repeats it", () => {
    const mail = { ...plain, bodyHtml: "<p>Hi</p>" };
    expect(composeMail(mail)).toEqual(composeMail({ ...mail }));
  });
});

describe("a header field", () => {
  const rows: readonly [says: string, changes: Partial<OutgoingMail>, line: string][] = [
    ["with other letters is encoded", { subject: "Grüße" }, "Subject: =?utf-8?B?R3LDvMOfZQ==?="],
    ["in another script is encoded in base64", { subject: "こんにちは" }, "Subject: =?utf-8?B?44GT44KT44Gr44Gh44Gv?="],
    ["that looks encoded is encoded", { subject: "=?utf-8?Q?x?=" }, "Subject: =?utf-8?Q?=3D=3Futf-8=3FQ=3Fx=3F=3D?="],
    [
      "folds between words",
      { subject: "word ".repeat(17) },
      `Subject: ${"word ".repeat(12)}word\r\n word word word word`,
    ],
    [
      "with an endless word is encoded",
      { subject: "x".repeat(65) },
      `Subject: =?utf-8?Q?${"x".repeat(52)}?=\r\n =?utf-8?Q?${"x".repeat(13)}?=`,
    ],
    ["with runs of spaces is encoded", { subject: "a  b" }, "Subject: =?utf-8?Q?a__b?="],
    [
      "breaks no letter in two",
      { subject: "é".repeat(9) },
      `Subject: =?utf-8?B?${Buffer.from("é".repeat(9)).toString("base64")}?=`,
    ],
    ["without a name is the bare address", { from: { address: "a@e.com" } }, "From: a@e.com"],
    ["with a name of atoms has them", { from: { name: "A B", address: "a@e.com" } }, "From: A B <a@e.com>"],
    [
      "quotes what atoms can't hold",
      { from: { name: 'Doe, "J." \\', address: "a@e.com" } },
      'From: "Doe, \\"J.\\" \\\\" <a@e.com>',
    ],
    [
      "can't take another address from a name",
      { from: { name: "b@e.com>, x", address: "a@e.com" } },
      'From: "b@e.com>, x" <a@e.com>',
    ],
    ["encodes a name", { from: { name: "Zoë", address: "a@e.com" } }, "From: =?utf-8?Q?Zo=C3=AB?= <a@e.com>"],
    ["has the A-label of a domain", { to: [{ address: "a@bücher.example" }] }, "To: a@xn--bcher-kva.example"],
    ["keeps the case of an address", { to: [{ address: "A.b@E.com" }] }, "To: A.b@E.com"],
    ["keeps a quoted local part", { to: [{ address: '"a b"@e.com' }] }, 'To: "a b"@e.com'],
    [
      "leaves out ids that a header can't hold",
      { references: ["a@b", "c d@e", "é@b", "x<y@z", "", "f@g"] },
      "References: <a@b> <f@g>",
    ],
  ];
  test.each(rows)("%s", (_says, changes, line) => {
    expect(`\r\n${wire({ ...plain, ...changes })}`).toContain(`\r\n${line}\r\n`);
  });

  test("is left out when no id is left", () => {
    expect(headerNames(wire({ ...plain, inReplyTo: "a b@c", references: ["x y"] }))).toEqual(headerNames(wire(plain)));
  });

  test("holds the longest id that a line can, and none longer", () => {
    const longest = `${"x".repeat(977)}@e.com`;
    const lines = wire({ ...plain, inReplyTo: longest, references: [longest, `x${longest}`] }).split("\r\n");
    expect(Math.max(...lines.map((line) => line.length))).toBe(998);
    expect(lines.filter((line) => line.includes("xxx"))).toHaveLength(2);
  });
});

describe("a body", () => {
  const rows: readonly [says: string, bodyText: string, encoded: string][] = [
    ["can't end the mail", "a\n.\nb", "a\r\n=2E\r\nb"],
    ["can't be a boundary", "a\n--x", "a\r\n=2D-x"],
    ["can't begin another mail of a mailbox file", "From here", "=46rom here"],
    ["keeps white space at line ends", "a \nb\t", "a=20\r\nb=09"],
    ["keeps equals signs", "a=b", "a=3Db"],
    ["reads any line end as one", "a\r\nb\rc\nd", "a\r\nb\r\nc\r\nd"],
    ["keeps its blank lines", "\n\na\n\n\n", "\r\n\r\na\r\n\r\n"],
    ["breaks long lines softly", "x".repeat(100), `${"x".repeat(75)}=\r\n${"x".repeat(25)}`],
    ["breaks no line of 76", "x".repeat(76), "x".repeat(76)],
    ["hides a dot behind a soft break too", `${"x".repeat(75)}..`, `${"x".repeat(75)}=\r\n=2E.`],
    ["may be empty", "", ""],
  ];
  test.each(rows)("%s", (_says, bodyText, encoded) => {
    expect(
      wire({ ...plain, bodyText })
        .split("\r\n\r\n")
        .slice(1)
        .join("\r\n\r\n"),
    ).toBe(`${encoded}\r\n`);
  });

  test("is in base64 if that is shorter", () => {
    expect(wire({ ...plain, bodyText: "日本語" })).toEndWith(
      "Content-Transfer-Encoding: base64\r\n\r\n5pel5pys6KqeDQo=\r\n",
    );
  });

  test("of 500 KB is encoded at once", () => {
    const startMs = cpuMs();
    composeMail({ ...plain, bodyText: "wörds ".repeat(16_000), bodyHtml: "<p>日本語</p>".repeat(35_000) });
    expect(cpuMs() - startMs).toBeLessThan(1_000);
  });
});

describe("nothing is injected", () => {
  const poisons = [
    "\r\nBcc: x@evil.example",
    "\nBcc: x@evil.example",
    "\rBcc: x",
    "\0",
    "\u2028Bcc: x",
    "\u0085x",
    "\uD800",
  ];
  const expected = headerNames(
    wire({ ...plain, bodyHtml: "<p>", replyTo: "r@e.com", inReplyTo: "a@b", references: ["a@b"] }),
  );

  test.each(poisons)("by %j in a text", (poison) => {
    const raw = wire({
      ...plain,
      from: { name: `Ada${poison}`, address: "ada@inbox.example" },
      subject: `Hello${poison}${poison}`,
      bodyText: poison,
      bodyHtml: `<p>${poison}`,
      replyTo: "r@e.com",
      inReplyTo: "a@b",
      references: [`x${poison}@y`, "a@b", poison],
    });
    expect(headerNames(raw)).toEqual(expected);
    expectCleanWire(raw);
  });

  const addresses = (poison: string) => [
    `a${poison}@e.com`,
    `a@e.com${poison}`,
    `a@${poison}e.com`,
    `"a${poison}"@e.com`,
    poison,
  ];
  test.each(poisons)("by %j in an address: that is refused", (poison) => {
    for (const address of addresses(poison)) {
      expect(() => composeMail({ ...plain, to: [{ address }] })).toThrow(
        "Cannot compose mail: its To is not an address",
      );
      expect(() => composeMail({ ...plain, replyTo: address })).toThrow(
        "Cannot compose mail: its Reply-To is not an address",
      );
      expect(() => composeMail({ ...plain, from: { address } })).toThrow(
        "Cannot compose mail: its From is not an address",
      );
    }
    expect(() => composeMail({ ...plain, messageId: `a@b${poison}` })).toThrow(
      "Cannot compose mail: its Message-ID is invalid",
    );
  });

  test.each([
    "",
    "a",
    "a@",
    "@b",
    "a b@c.d",
    "a@b c",
    "a,b@c.d",
    "a@b/c.d",
    "a@bücher/x.d",
    "<a@b.c>",
    "a@b..c",
    `${"x".repeat(320)}@e.com`,
  ])("by what is not one address: %j", (address) => {
    expect(() => composeMail({ ...plain, to: [{ address }] })).toThrow("Cannot compose mail");
  });
});

test("only a local part outside ASCII needs SMTPUTF8, and is then written as it is", () => {
  expect(needsSmtpUtf8({ ...plain, to: [{ address: "a@bücher.example" }], subject: "Grüße" })).toBe(false);
  const mail = { ...plain, to: [{ address: "jürgen@bücher.example" }] };
  expect(needsSmtpUtf8(mail)).toBe(true);
  expect(wire(mail)).toContain("To: jürgen@xn--bcher-kva.example\r\n");
  expect(needsSmtpUtf8({ ...plain, replyTo: "jürgen@e.com" })).toBe(true);
});

const line = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.string({ maxLength: 60, unit: "grapheme" }),
  fc.string({ maxLength: 300, unit: "binary" }),
  fc.lorem({ maxCount: 30 }),
  fc.constantFrom(
    "",
    "=?utf-8?B?eA==?=",
    "a\r\nBcc: x",
    "Re: é",
    "x".repeat(998),
    "é".repeat(998),
    "a  b",
    "\u202Ex",
    '"',
    "\\",
    "(c)",
  ),
);
const body = fc.oneof(
  line,
  fc
    .array(fc.oneof(line, fc.constantFrom(".", "../..", ".\r", "--", "From x", " ", "\t", "\0.", "")), {
      maxLength: 20,
    })
    .map((lines) => lines.join("\n")),
  fc
    .array(fc.constantFrom("\r", "\n", ".", "\0", "-", "x", " "), { maxLength: 60 })
    .map((characters) => characters.join("")),
);
const id = fc
  .tuple(fc.stringMatching(/^[a-z0-9.$_=+-]{1,60}$/), fc.domain())
  .map(([left, right]) => `${left}@${right}`);
const address = fc
  .tuple(fc.stringMatching(/^[a-z0-9!#$%&'*+/=?^_`{|}~-]{1,20}(\.[a-z0-9]{1,10})?$/), fc.domain())
  .map(([left, right]) => `${left}@${right}`);
const outgoing: fc.Arbitrary<OutgoingMail> = fc.record({
  messageId: id,
  date: fc.date({ min: new Date("1990-01-01"), max: new Date("2090-01-01"), noInvalidDate: true }),
  from: fc.record({ address, name: line }),
  to: fc.record({ address }).map((mailbox) => [mailbox]),
  cc: fc.constant([]),
  replyTo: fc.option(address, { nil: undefined }),
  subject: line,
  bodyText: body,
  bodyHtml: fc.option(body, { nil: undefined }),
  inReplyTo: fc.option(id, { nil: undefined }),
  references: fc.oneof(fc.array(id, { maxLength: 5 }), fc.array(id, { minLength: 50, maxLength: 200 })),
  autoSubmitted: fc.constantFrom(undefined, "auto-generated", "auto-replied"),
  headers: fc.constant([]),
  attachments: fc.constant([]),
});

describe("any mail is read back with every value, from a clean wire", () => {
  test("by postal-mime", async () => {
    await fc.assert(
      fc.asyncProperty(outgoing, async (mail) => {
        const raw = composeMail(mail);
        expectCleanWire(latin1(raw));
        const read = await PostalMime.parse(raw);
        // postal-mime adds the line end before a boundary to the part, although it belongs to the boundary (RFC 2046 §5.1.1).
        const partOf = (text: string) => readText(mail.bodyHtml === undefined ? text : text.replace(/\n$/, ""));
        expect(read.headers.map(({ originalKey }) => originalKey).sort()).toEqual(expectedHeader(mail));
        expect({
          subject: oneLine(read.subject ?? ""),
          from: [read.from?.address, oneLine(read.from?.name ?? "")],
          to: read.to?.map((to) => to.address),
          replyTo: read.replyTo?.[0]?.address,
          messageId: read.messageId,
          inReplyTo: read.inReplyTo,
          references: read.references?.split(/\s+/) ?? [],
          date: read.date,
          text: partOf(read.text ?? ""),
          html: partOf(read.html ?? ""),
        }).toEqual({
          subject: oneLine(mail.subject),
          from: [mail.from.address, oneLine(mail.from.name ?? "")],
          to: mail.to.map((to) => to.address),
          replyTo: mail.replyTo,
          messageId: `<${mail.messageId}>`,
          inReplyTo: mail.inReplyTo === undefined ? undefined : `<${mail.inReplyTo}>`,
          references: mail.references.map((reference) => `<${reference}>`),
          date: wholeSecond(mail.date).toISOString(),
          text: readText(mail.bodyText),
          html: readText(mail.bodyHtml ?? ""),
        });
      }),
      { numRuns: 300 },
    );
  });

  const python = Bun.which("python3");
  if (python === null) console.log("python3 is not there: its email package reads no mail in this run");
  test.skipIf(python === null)("by Python's email", async () => {
    const mails = fc.sample(outgoing, 120);
    const batch = JSON.stringify(mails.map((mail) => composeMail(mail).toBase64()));
    const process = Bun.spawn([python ?? "", `${import.meta.dir}/../fixtures/read-mails.py`], {
      stdin: new Blob([batch]),
      stdout: "pipe",
    });
    const read: unknown[] = await new Response(process.stdout).json();
    expect(read).toHaveLength(mails.length);
    for (const [index, mail] of mails.entries()) {
      expect(read[index]).toMatchObject({
        subject: oneLine(mail.subject),
        fromName: oneLine(mail.from.name ?? ""),
        from: mail.from.address,
        to: mail.to.map((to) => to.address),
        replyTo: mail.replyTo ?? null,
        messageId: `<${mail.messageId}>`,
        inReplyTo: mail.inReplyTo === undefined ? null : `<${mail.inReplyTo}>`,
        references: mail.references.map((reference) => `<${reference}>`),
        dateMs: wholeSecond(mail.date).getTime(),
        defects: [],
      });
      const { header, text, html } = read[index] as { header: string[]; text: string; html: string | null };
      expect(header.toSorted()).toEqual(expectedHeader(mail));
      expect([readText(text), readText(html ?? "")]).toEqual([readText(mail.bodyText), readText(mail.bodyHtml ?? "")]);
    }
  });
});

function expectedHeader(mail: OutgoingMail): string[] {
  const optional = [
    ...(mail.replyTo === undefined ? [] : ["Reply-To"]),
    ...(mail.inReplyTo === undefined ? [] : ["In-Reply-To"]),
    ...(mail.references.length === 0 ? [] : ["References"]),
    ...(mail.autoSubmitted === undefined ? [] : ["Auto-Submitted", "X-Auto-Response-Suppress"]),
  ];
  const always = "From To Subject Message-ID Date MIME-Version Content-Type Content-Transfer-Encoding".split(" ");
  return [...always, ...optional].sort();
}

/** Ignores one line end at the end of a body, and a byte order mark at its start, which some readers remove. */
function readText(body: string): string {
  return cleanText(body)
    .replaceAll(/\r\n?/g, "\n")
    .replace(/\n$/, "")
    .replace(/^\uFEFF/, "");
}

function wholeSecond(date: Date): Date {
  return new Date(Math.floor(date.getTime() / 1000) * 1000);
}

function expectCleanWire(raw: string): void {
  // Within a line of a body a tab may be literal (RFC 2045 §6.7, rule 3).
  expect(raw).toMatch(/^[\t\r\n -~]*$/);
  expect(raw.split("\r\n\r\n", 1)[0]).toMatch(/^[\r\n -~]*$/);
  expect(raw.replaceAll("\r\n", "")).not.toMatch(/[\r\n]/);
  expect(Math.max(...raw.split("\r\n").map((text) => text.length))).toBeLessThanOrEqual(998);
  expect(raw).toEndWith("\r\n");
  for (const sequence of [...smugglingSequences, "\r\n.\r\n"]) expect(raw).not.toContain(sequence);
}

function headerNames(raw: string): string[] {
  const [header = ""] = raw.split("\r\n\r\n", 1);
  return header.split(/\r\n(?![ \t])/).map((text) => text.slice(0, text.indexOf(":")));
}

function wire(mail: OutgoingMail): string {
  return new TextDecoder().decode(composeMail(mail));
}

function latin1(raw: Uint8Array): string {
  return Buffer.from(raw).toString("latin1");
}
