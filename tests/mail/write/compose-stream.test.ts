import { describe, expect, test } from "bun:test";
import { generateKeyPairSync } from "node:crypto";
import fc from "fast-check";
import { dkimVerify } from "mailauth/lib/dkim/verify";
import PostalMime from "postal-mime";
import type { OutgoingAttachment, OutgoingMail } from "../../../src/domain/message.ts";
import { composeMail, composeStream, mailSize } from "../../../src/mail/write/compose.ts";
import { bodyHasher, dkimSigner, publicKeyRecord } from "../../../src/mail/write/dkim.ts";
import smugglingSequences from "../fixtures/smuggling-sequences.json" with { type: "json" };

const plain: OutgoingMail = {
  messageId: "0198@inbox.example",
  date: new Date("2026-03-03T14:05:06.789Z"),
  from: { name: "Ada", address: "ada@inbox.example" },
  to: [{ address: "jane@example.com" }],
  cc: [],
  replyTo: undefined,
  subject: "Hello",
  bodyText: "Hi",
  bodyHtml: undefined,
  inReplyTo: undefined,
  references: [],
  autoSubmitted: undefined,
  headers: [],
  attachments: [],
};

/** Files by their source, in pieces of other lengths than lines. */
function filesOf(contents: Readonly<Record<string, Uint8Array>>, pieceBytes = 1000) {
  return async function* ({ sourceId }: OutgoingAttachment) {
    const bytes = contents[sourceId] ?? new Uint8Array();
    for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
  };
}

function file(name: string, bytes: Uint8Array, changes: Partial<OutgoingAttachment> = {}): OutgoingAttachment {
  return {
    filename: name,
    contentType: "application/pdf",
    inline: false,
    contentId: undefined,
    sizeBytes: bytes.length,
    sourceId: name,
    part: 0,
    ...changes,
  };
}

async function composed(mail: OutgoingMail, contents: Readonly<Record<string, Uint8Array>>, pieceBytes?: number) {
  return Buffer.concat(await Array.fromAsync(composeStream(mail, filesOf(contents, pieceBytes))));
}

const bytes = (text: string) => new TextEncoder().encode(text);

describe("a mail with files", () => {
  const contents = {
    "a.pdf": bytes("a".repeat(100)),
    "logo.png": bytes("logo"),
    "m.eml": bytes("Subject: x\r\n\r\nin\r\n"),
  };
  const logo = file("logo.png", contents["logo.png"], { contentType: "image/png", inline: true, contentId: "logo@x" });
  const attached = file("a.pdf", contents["a.pdf"]);
  const forwarded = file("m.eml", contents["m.eml"], { contentType: "message/rfc822" });

  test("is text and files in mixed, each in lines of base64", async () => {
    const mail = (await composed({ ...plain, attachments: [attached] }, contents)).toString();
    const [boundary = ""] = mail.match(/(?<=boundary=)\S+/) ?? [];
    expect(mail.slice(mail.indexOf("Content-Transfer"))).toBe(
      [
        "Content-Transfer-Encoding: 7bit",
        `Content-Type: multipart/mixed; boundary=${boundary}`,
        "",
        `--${boundary}`,
        "Content-Type: text/plain; charset=utf-8",
        "Content-Transfer-Encoding: quoted-printable",
        "",
        "Hi",
        "",
        `--${boundary}`,
        "Content-Type: application/pdf",
        "Content-Transfer-Encoding: base64",
        'Content-Disposition: attachment; filename="a.pdf"',
        "",
        "YWFh".repeat(19),
        `${"YWFh".repeat(14)}YQ==`,
        `--${boundary}--`,
        "",
      ].join("\r\n"),
    );
  });

  const html = { bodyHtml: '<img src="cid:logo@x">' };
  const trees: [what: string, changes: Partial<OutgoingMail>, types: string[]][] = [
    ["text and a file", { attachments: [attached] }, ["mixed", "text/plain", "application/pdf"]],
    [
      "HTML and an inline file",
      { ...html, attachments: [logo] },
      ["related", "alternative", "text/plain", "text/html", "image/png"],
    ],
    ["an inline file without HTML, which is attached", { attachments: [logo] }, ["mixed", "text/plain", "image/png"]],
    [
      "everything",
      { ...html, attachments: [attached, logo, forwarded] },
      ["mixed", "related", "alternative", "text/plain", "text/html", "image/png", "application/pdf", "message/rfc822"],
    ],
  ];
  test.each(trees)("has the layers that it needs: %s", async (_what, changes, types) => {
    const mail = (await composed({ ...plain, ...changes }, contents)).toString();
    const written = [...mail.matchAll(/^Content-Type: (?:multipart\/)?([a-z0-9/]+)/gm)].map(([, type]) => type ?? "");
    expect(written).toEqual(types);
    const boundaries = [...mail.matchAll(/boundary=(\S+)/g)].map(([, boundary]) => boundary);
    expect(new Set(boundaries).size).toBe(boundaries.length);
    expect(mail.match(/^Content-Disposition: inline/gm)?.length ?? 0).toBe("bodyHtml" in changes ? 1 : 0);
  });

  test("holds another mail as it is", async () => {
    const mail = (await composed({ ...plain, attachments: [forwarded] }, contents)).toString();
    expect(mail).toContain(
      'Content-Type: message/rfc822\r\nContent-Transfer-Encoding: 7bit\r\nContent-Disposition: attachment; filename="m.eml"\r\n\r\nSubject: x\r\n\r\nin\r\n\r\n--',
    );
  });

  test("is the same for any pieces of its files", async () => {
    const mail = { ...plain, ...html, attachments: [attached, logo, forwarded] };
    const whole = await composed(mail, contents);
    for (const pieceBytes of [1, 2, 56, 57, 58, 99])
      expect((await composed(mail, contents, pieceBytes)).equals(whole)).toBe(true);
  });

  test.each([
    ["grew", { sizeBytes: 99 }],
    ["shrank", { sizeBytes: 101 }],
  ])("is none when a file %s meanwhile", async (_what, changes) => {
    const mail = { ...plain, attachments: [file("a.pdf", contents["a.pdf"], changes)] };
    expect(composed(mail, contents)).rejects.toThrow("the length of a file is not its stated size");
  });

  const names: [name: string, disposition: string][] = [
    ["Invoice 2026.pdf", 'attachment; filename="Invoice 2026.pdf"'],
    ["Größe.pdf", "attachment; filename*=utf-8''Gr%C3%B6%C3%9Fe.pdf;\r\n filename=\"Gr__e.pdf\""],
    ['a"b\\c%.pdf', "attachment; filename*=utf-8''a%22b%5Cc%25.pdf;\r\n filename=\"a_b_c_.pdf\""],
    ["a\r\nBcc: x@y.pdf", "attachment; filename*=utf-8''a%20Bcc%3A%20x%40y.pdf;\r\n filename=\"a Bcc_ x@y.pdf\""],
  ];
  test.each(names)("names a file %j in characters that all readers know", async (name, disposition) => {
    const mail = (
      await composed({ ...plain, attachments: [file(name, contents["a.pdf"], { sourceId: "a.pdf" })] }, contents)
    ).toString();
    expect(mail.replaceAll("\r\n filename*", " filename*")).toContain(`Content-Disposition: ${disposition}\r\n\r\n`);
  });

  test.each([
    ["multipart/mixed", "application/octet-stream"],
    ["message/partial", "application/octet-stream"],
    ["text/html; charset=x", "application/octet-stream"],
    ["image/svg+xml", "image/svg+xml"],
  ])("has no type that would have to be read: %s", async (contentType, written) => {
    const mail = (
      await composed({ ...plain, attachments: [file("a.pdf", contents["a.pdf"], { contentType })] }, contents)
    ).toString();
    expect(mail).toContain(`\r\nContent-Type: ${written}\r\nContent-Transfer-Encoding: base64\r\n`);
  });
});

describe("a header", () => {
  const wire = (changes: Partial<OutgoingMail>) => new TextDecoder().decode(composeMail({ ...plain, ...changes }));

  test("names all recipients in To and Cc, and no others", () => {
    const mail = wire({
      to: [{ address: "a@e.com", name: "Zoë" }, { address: "b@e.com" }, { address: "c@e.com", name: "Doe, J." }],
      cc: Array.from({ length: 5 }, (_, index) => ({ address: `copy-${index}@example.com` })),
    });
    expect(mail).toContain(
      'To: =?utf-8?Q?Zo=C3=AB?= <a@e.com>, b@e.com, "Doe, J." <c@e.com>\r\nCc: copy-0@example.com, copy-1@example.com, copy-2@example.com,\r\n copy-3@example.com, copy-4@example.com\r\nSubject:',
    );
    expect(() => wire({ to: [] })).toThrow("it has no recipient");
  });

  const long = `<https://example.com/${"u".repeat(200)}>`;
  const fields: [name: string, value: string, written: string][] = [
    ["X-Order", "4711", "X-Order: 4711"],
    ["X-Note", "a  b", "X-Note: a  b"],
    ["X-Note", "Grüße", "X-Note: =?utf-8?B?R3LDvMOfZQ==?="],
    ["X-Note", "=?utf-8?Q?x?=", "X-Note: =?utf-8?Q?=3D=3Futf-8=3FQ=3Fx=3F=3D?="],
    ["Feedback-ID", `${"f".repeat(100)}:b`, `Feedback-ID: ${"f".repeat(100)}:b`],
    ["List-Id", "Größe <news.example.com>", "List-Id: =?utf-8?B?R3LDtsOfZQ==?= <news.example.com>"],
    ["List-Unsubscribe", `${long},<mailto:u@e.com>`, `List-Unsubscribe: ${long},\r\n <mailto:u@e.com>`],
    ["List-Unsubscribe-Post", "List-Unsubscribe=One-Click", "List-Unsubscribe-Post: List-Unsubscribe=One-Click"],
    ["List-Unsubscribe", "<https://e.com/ü>", "List-Unsubscribe: <https://e.com/%C3%BC>"],
    ["X-Poison", "a\r\nBcc: x@e.com", "X-Poison: a Bcc: x@e.com"],
  ];
  test.each(fields)("has the field %s: %s", (name, value, written) => {
    expect(wire({ headers: [{ name, value }] })).toContain(`MIME-Version: 1.0\r\n${written}\r\nContent-Type:`);
  });

  test("has no field whose name is none", () => {
    expect(() => wire({ headers: [{ name: "X: y\r\nBcc", value: "x" }] })).toThrow("Cannot compose mail");
  });
});

const keys = [
  generateKeyPairSync("rsa", { modulusLength: 2048 }),
  generateKeyPairSync("rsa", { modulusLength: 1032 }),
  generateKeyPairSync("ed25519"),
].map(({ privateKey }) => String(privateKey.export({ type: "pkcs8", format: "pem" })));

const anyLine = fc.oneof(
  fc.string({ maxLength: 80, unit: "grapheme" }),
  fc.string({ maxLength: 40, unit: "binary" }),
  fc.lorem(),
);
const anyFile = fc.record({
  name: fc.oneof(
    fc.string({ minLength: 1, maxLength: 60, unit: "grapheme" }),
    fc.constantFrom("x".repeat(255), "日本.pdf"),
  ),
  bytes: fc.uint8Array({ maxLength: 5000 }),
  inline: fc.boolean(),
  contentId: fc.option(fc.stringMatching(/^[A-Za-z0-9._@-]{1,128}$/), { nil: undefined }),
});
const anyMail = fc.record({
  messageId: fc.constantFrom("a@inbox.example", "0198-b@inbox.example"),
  date: fc.date({ min: new Date("1990-01-01"), max: new Date("2090-01-01"), noInvalidDate: true }),
  to: fc.array(fc.record({ address: fc.emailAddress(), name: anyLine }), { minLength: 1, maxLength: 5 }),
  cc: fc.array(fc.record({ address: fc.emailAddress() }), { maxLength: 20 }),
  subject: anyLine,
  bodyText: anyLine,
  bodyHtml: fc.option(anyLine, { nil: undefined }),
  headers: fc.uniqueArray(fc.record({ name: fc.constantFrom("X-A", "X-B", "List-Unsubscribe"), value: anyLine }), {
    selector: ({ name }) => name,
    maxLength: 3,
  }),
  files: fc.array(anyFile, { maxLength: 5 }),
});

test("any mail with files is read by one parser, verified by another, and has the computed length", async () => {
  const signers = await Promise.all(
    keys.map((privateKeyPem) => dkimSigner({ domain: "inbox.example", selector: "s1", privateKeyPem })),
  );
  await fc.assert(
    fc.asyncProperty(
      anyMail,
      fc.nat(2),
      fc.integer({ min: 1, max: 3000 }),
      async ({ files, ...said }, key, pieceBytes) => {
        const contents = Object.fromEntries(files.map(({ bytes }, index) => [String(index), bytes]));
        const attachments = files.map(({ name, bytes, inline, contentId }, index) =>
          file(name, bytes, { inline, contentId, sourceId: String(index) }),
        );
        const mail: OutgoingMail = { ...plain, ...said, attachments };
        const signer = signers[key];
        if (signer === undefined) throw new Error("no such key");
        expect(mailSize(mail, undefined)).toBe((await composed(mail, contents)).length);

        const [header = new Uint8Array(), ...rest] = await Array.fromAsync(
          composeStream(mail, filesOf(contents, pieceBytes)),
        );
        const hasher = bodyHasher();
        for (const piece of rest) hasher.take(piece);
        const raw = Buffer.concat([await signer.signatureField(header, hasher.digest(), mail), header, ...rest]);
        expect(raw.length).toBe(mailSize(mail, signer));
        expect(raw.equals(Buffer.from(await signer.sign(await composed(mail, contents), mail)))).toBe(true);

        const { results } = await dkimVerify(raw, {
          resolver: async () => [[publicKeyRecord(keys[key] ?? "")]],
          minBitLength: 1024,
        });
        expect(results.map(({ status }) => status.result as string)).toEqual(["pass"]);

        const wire = raw.toString("latin1");
        expect(wire).toMatch(/^[\t\r\n -~]*$/);
        expect(Math.max(...wire.split("\r\n").map((text) => text.length))).toBeLessThanOrEqual(998);
        for (const sequence of [...smugglingSequences, "\r\n.\r\n"]) expect(wire).not.toContain(sequence);

        const read = await PostalMime.parse(raw);
        expect(read.to?.map(({ address }) => address)).toEqual(mail.to.map(({ address }) => address));
        expect(read.cc?.map(({ address }) => address) ?? []).toEqual(mail.cc.map(({ address }) => address));
        const isShown = ({ inline, contentId }: OutgoingAttachment) =>
          inline && contentId !== undefined && mail.bodyHtml !== undefined;
        const inOrder = [...attachments.filter(isShown), ...attachments.filter((each) => !isShown(each))];
        expect(
          read.attachments.map(({ content, disposition, contentId }) => [content, disposition, contentId]),
        ).toEqual(
          inOrder.map((each) => [
            Uint8Array.from(contents[each.sourceId] ?? []).buffer,
            isShown(each) ? "inline" : "attachment",
            each.contentId === undefined ? undefined : `<${each.contentId}>`,
          ]),
        );
      },
    ),
    { numRuns: 150 },
  );
});

test("a hash that is taken in pieces is that of the whole, wherever a body is cut", async () => {
  const { relaxedBody } = await import("../../../src/mail/write/dkim-canonical.ts");
  const octet = fc.oneof(fc.constantFrom(13, 10, 32, 9, 13, 10), fc.nat(255));
  const piece = fc.oneof(
    fc.array(octet, { maxLength: 12 }).map((octets) => Uint8Array.from(octets)),
    fc.constantFrom(
      bytes(`${"A".repeat(76)}\r\n`.repeat(5)),
      bytes(`\r\n${"A".repeat(76)}`.repeat(5)),
      bytes("A".repeat(300)),
    ),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const hasher = bodyHasher();
      for (const each of pieces) hasher.take(each);
      const whole = relaxedBody(Buffer.concat(pieces));
      expect(Buffer.from(hasher.digest()).toString("hex")).toBe(
        new Bun.CryptoHasher("sha256").update(whole).digest("hex"),
      );
      expect(Buffer.from(whole).toString("latin1")).toBe(relaxedByPattern(Buffer.concat(pieces).toString("latin1")));
    }),
    { numRuns: 3000 },
  );
});

/** The examples of RFC 6376 §3.4.4. */
function relaxedByPattern(body: string): string {
  const lines = body.split("\r\n").map((line) => line.replace(/[ \t]+/g, " ").replace(/ $/, ""));
  while (lines.at(-1) === "") lines.pop();
  return lines.map((line) => `${line}\r\n`).join("");
}
