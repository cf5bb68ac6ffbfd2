import { describe, expect, test } from "bun:test";
import { generateKeyPairSync } from "node:crypto";
import { dkimVerify } from "mailauth/lib/dkim/verify";
import PostalMime, { decodeWords, type Email } from "postal-mime";
import type { Environment } from "../../src/config.ts";
import { publicKeyRecord } from "../../src/mail/write/dkim.ts";
import { enginesHere } from "../support/engines.ts";
import { randomFile, upload } from "../support/files.ts";
import { type ScriptedSmtp, scriptedSmtp } from "../support/scripted-smtp.ts";
import { newInbox, send } from "../support/sends.ts";
import { startWorld, type World } from "../support/world.ts";

const privateKeyPem = String(
  generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ type: "pkcs8", format: "pem" }),
);

/** A service that signs, and a server for its mail. */
async function begin(env: Environment = {}): Promise<AsyncDisposable & { world: World; relay: ScriptedSmtp }> {
  const relay = await scriptedSmtp();
  const none = { SENDS_PER_MINUTE: "0", SENDS_PER_DAY: "0", COLD_RECIPIENT_DAILY: "0" };
  const signed = { DKIM_SELECTOR: "s1", DKIM_KEY: privateKeyPem };
  const way = { OUTBOUND: `smtp://127.0.0.1:${relay.port}?tls=off`, SEND_WAIT_MS: "30000" };
  const world = await startWorld({ env: { ...way, ...none, ...signed, ...env } });
  return {
    world,
    relay,
    async [Symbol.asyncDispose]() {
      await world[Symbol.asyncDispose]();
      await relay.close();
    },
  };
}

/** All header fields of this name. */
const fields = ({ headers }: Email, name: string) =>
  headers.filter(({ key }) => key === name).map(({ value }) => decodeWords(value).replace(/\s+/g, " "));

const html = ({ html: said = "" }: Email) => said.trim();
const text = ({ text: said = "" }: Email) => said.trim();

const markdown = "# Hi **Jane**\n\n<b>raw</b>\n\n| a | b |\n|---|---|\n| 1 | 2 |";

/** A send request, and what another parser finds in the mail at the relay. */
const asked: readonly [what: string, body: object, read: (mail: Email, inbox: { address: string }) => void][] = [
  [
    "headers of the caller's, in his order, encoded where they must be, and the list's folded and bare",
    {
      headers: {
        "X-Order": "7",
        "X-Words": "Grüße an alle",
        "List-Unsubscribe": `<https://example.com/${"u".repeat(90)}>, <mailto:leave@example.com>`,
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
        "Auto-Submitted": "auto-generated",
        Importance: "high",
      },
    },
    (mail) => {
      expect(fields(mail, "x-order")).toEqual(["7"]);
      expect(fields(mail, "x-words")).toEqual(["Grüße an alle"]);
      expect(fields(mail, "list-unsubscribe")).toEqual([
        `<https://example.com/${"u".repeat(90)}>, <mailto:leave@example.com>`,
      ]);
      expect(fields(mail, "list-unsubscribe-post")).toEqual(["List-Unsubscribe=One-Click"]);
      expect(fields(mail, "auto-submitted")).toEqual(["auto-generated"]);
      expect(fields(mail, "importance")).toEqual(["high"]);
    },
  ],
  [
    "a name before the inbox's own address, whatever letters it has",
    { fromName: "Ada “the First”, Gräfin" },
    (mail, { address }) => {
      expect(mail.from).toMatchObject({ name: "Ada “the First”, Gräfin", address });
      expect(fields(mail, "from")).toHaveLength(1);
    },
  ],
  ["no name", { fromName: null }, (mail, { address }) => expect(mail.from).toMatchObject({ name: "", address })],
  [
    "an address of the inbox with a tag",
    { fromAddr: "TAGGED" },
    (mail, { address }) => expect(mail.from?.address).toBe(address.replace("@", "+orders@")),
  ],
  [
    "text, as HTML as it may look",
    { body: "<p>Hello</p>", bodyFormat: "text" },
    (mail) => {
      expect(text(mail)).toBe("<p>Hello</p>");
      expect(mail.html).toBeUndefined();
    },
  ],
  [
    "HTML, as little as it looks it",
    { body: "Hello & bye", bodyFormat: "html" },
    (mail) => {
      expect(html(mail)).toBe("Hello & bye");
      expect(text(mail)).toBe("Hello & bye");
    },
  ],
  [
    "Markdown as it was written, and as HTML in which raw HTML is text",
    { body: markdown, bodyFormat: "markdown" },
    (mail) => {
      expect(text(mail)).toBe(markdown);
      expect(html(mail)).toContain("<h1>Hi <strong>Jane</strong></h1>");
      expect(html(mail)).toContain("&lt;b&gt;raw&lt;/b&gt;");
      expect(html(mail)).toMatch(/<td[^>]*>1<\/td>/);
    },
  ],
  [
    "what it looks like, where nothing is said of it",
    { body: "<p>Hello <b>Jane</b></p>" },
    (mail) => {
      expect(html(mail)).toBe("<p>Hello <b>Jane</b></p>");
      expect(text(mail)).toBe("Hello Jane");
    },
  ],
];

describe.each(enginesHere())("At the relay, on %s,", () => {
  test("a mail has what was requested, and a valid signature", async () => {
    await using here = await begin();
    const { world, relay } = here;
    const inbox = await world.inbox("ada");
    for (const [what, body, read] of asked) {
      const tagged = inbox.address.replace("@", "+orders@");
      const given = "fromAddr" in body ? { ...body, fromAddr: tagged } : body;
      const { status, body: answer } = await send(world, inbox.id, given, { waits: true });
      expect([what, status, answer.status]).toEqual([what, 200, "sent"]);
      const mail = relay.mails.at(-1);
      read(await PostalMime.parse(mail?.raw ?? ""), inbox);
      const { results } = await dkimVerify(mail?.raw ?? Buffer.of(), {
        resolver: async () => [[publicKeyRecord(privateKeyPem)]],
      });
      expect([what, results.map(({ status: verdict }) => verdict.result)]).toEqual([what, ["pass"]]);
    }
    expect(relay.mails).toHaveLength(asked.length);
  }, 60_000);

  test("reserved header fields are refused, with their names", async () => {
    await using here = await begin();
    const { world, relay } = here;
    const inboxId = await newInbox(world);
    const refused: readonly [body: object, pointer: string][] = [
      [{ fromName: "ceo@bank.example" }, "#/fromName"],
      [{ fromName: "Ada\r\nBcc: eve@example.com" }, "#/fromName"],
      [{ fromName: "Ada\u202egro.elpmaxe" }, "#/fromName"],
      [{ fromAddr: "eve@example.com" }, "#/fromAddr"],
      [{ fromAddr: "nobody-else@inbox.localhost" }, "#/fromAddr"],
      [{ headers: { Bcc: "eve@example.com" } }, "#/headers/Bcc"],
      [{ headers: { "X-A": "1\r\nBcc: eve@example.com" } }, "#/headers/X-A"],
      [{ headers: { "DKIM-Signature": "v=1" } }, "#/headers/DKIM-Signature"],
      [{ headers: { "X-A": "1", "x-a": "2" } }, "#/headers/x-a"],
      [{ autoSubmitted: "auto-generated", headers: { "Auto-Submitted": "auto-replied" } }, "#/headers/Auto-Submitted"],
      [
        { autoSubmitted: "auto-generated", headers: { "X-Auto-Response-Suppress": "All" } },
        "#/headers/X-Auto-Response-Suppress",
      ],
      [{ metadata: JSON.parse('{"__proto__": "x"}') }, "#/metadata"],
      [{ bodyFormat: "rtf" }, "#/bodyFormat"],
      [{ body: "# Hi", bodyFormat: "markdown", bodyHtml: "<p>Hi</p>" }, "#/bodyHtml"],
    ];
    for (const [body, pointer] of refused) {
      const { status, body: answer } = await send(world, inboxId, body, { waits: true });
      expect([status, answer.errors?.map((each: { pointer: string }) => each.pointer)]).toEqual([400, [pointer]]);
    }
    expect(relay.mails).toEqual([]);
  }, 60_000);

  test.each<[what: string, env: Environment]>([
    ["signed", {}],
    ["with a mark for the relay alone", { RELAY_NOTICES: "postmark:user:a-password-of-these-tests" }],
  ])(
    "a mail has exactly the size that was compared with the limit, and one more byte is refused with both sizes: %s",
    async (_, env) => {
      const bytes = randomFile(300_000);
      const body = { subject: "Größe ".repeat(20), body: "<p>Hallo</p>" };
      /** Sends the same mail by an upload to a service with this limit. */
      async function asks(limit: number) {
        const here = await begin({ SEND_MAX_BYTES: String(limit), ...env });
        const { id } = await here.world.inbox("ada");
        const { body: file } = await upload(here.world, bytes);
        const attachments = [{ uploadId: file.id, filename: "größe.pdf" }];
        const answer = await send(here.world, id, { ...body, attachments }, { waits: true });
        return Object.assign(here, { answer });
      }
      await using small = await asks(350_000);
      expect(small.answer.body).toMatchObject({ status: 413, code: "payload_too_large", limit: 350_000 });
      const { size } = small.answer.body;
      expect(size).toBeGreaterThan(400_000);

      await using enough = await asks(size);
      expect([enough.answer.status, enough.answer.body.status]).toEqual([200, "sent"]);
      expect(enough.relay.mails.map(({ raw }) => raw.length)).toEqual([size]);

      await using oneLess = await asks(size - 1);
      expect([oneLess.answer.status, oneLess.answer.body.limit, oneLess.answer.body.size]).toEqual([
        413,
        size - 1,
        size,
      ]);
      expect([...small.relay.mails, ...oneLess.relay.mails]).toEqual([]);
    },
    60_000,
  );
});
