import { describe, expect, test } from "bun:test";
import { generateKeyPairSync } from "node:crypto";
import { dkimVerify } from "mailauth/lib/dkim/verify";
import { createTransport } from "nodemailer";
import PostalMime, { type Email } from "postal-mime";
import { publicKeyRecord } from "../../src/mail/write/dkim.ts";
import { enginesHere } from "../support/engines.ts";
import { scriptedSmtp } from "../support/scripted-smtp.ts";
import { newInbox, send } from "../support/sends.ts";
import { worldsOn } from "../support/world-on.ts";

/** Jane's mail program: writes with nodemailer, reads with postal-mime, and threads by RFC 5322 §3.6.4. */
function mailProgram(smtpPort: number) {
  const transport = createTransport({ host: "127.0.0.1", port: smtpPort, secure: false, ignoreTLS: true });
  const mails: { id: string; parent: string | undefined; references: string[] }[] = [];

  function keep(mail: Pick<Email, "messageId" | "inReplyTo" | "references">): void {
    const references = idsIn(mail.references);
    mails.push({
      id: idsIn(mail.messageId)[0] ?? "",
      parent: idsIn(mail.inReplyTo)[0] ?? references.at(-1),
      references,
    });
  }

  return {
    mails,
    async read(raw: Uint8Array): Promise<Email> {
      const mail = await PostalMime.parse(raw);
      keep(mail);
      return mail;
    },
    async write(to: string, subject: string, text: string, parent?: Email): Promise<void> {
      const references = parent && [...idsIn(parent.references), ...idsIn(parent.messageId)].join(" ");
      const info = await transport.sendMail({
        from: { name: "Jäne Doe", address: "jane@example.com" },
        to,
        subject,
        text,
        ...(parent && { inReplyTo: parent.messageId ?? "", references: references ?? "" }),
      });
      keep({ messageId: info.messageId, inReplyTo: parent?.messageId, references });
    },
    /** The chain of parents from each mail to the first one. */
    thread(): string[] {
      const parentOf = new Map(mails.map(({ id, parent }) => [id, parent]));
      const way: string[] = [];
      for (let id = mails.at(-1)?.id; id !== undefined; id = parentOf.get(id)) way.push(id);
      return way.reverse();
    },
    close: () => transport.close(),
  };
}

function idsIn(field: string | undefined): string[] {
  return field?.match(/<[^<>\s]+>/g) ?? [];
}

describe.each(enginesHere())("a conversation of six mails (%s)", (engine) => {
  const startWorld = worldsOn(engine);

  test("is one thread here and in the other mail program, signed and quoted", async () => {
    await using jane = await disposable(scriptedSmtp());
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    await using world = await startWorld({
      env: { OUTBOUND: `smtp://127.0.0.1:${jane.port}?tls=off`, DKIM_SELECTOR: "mail", DKIM_KEY: pem },
    });
    const ada = await world.inbox("ada");
    const program = mailProgram(world.smtpPort);
    const subject = "Über die Pläne — 計画";

    let threadId: string | undefined;
    let lastRead: Email | undefined;
    for (const turn of [1, 2, 3]) {
      world.clock.pass(60_000);
      await program.write(ada.address, turn === 1 ? subject : `Re: ${subject}`, `Frage ${turn} – で`, lastRead);
      const { body: threads } = await world.api(`/v1/inboxes/${ada.id}/threads`);
      expect(threads.total).toBe(1);
      threadId ??= threads.data[0].threadId;
      expect(threads.data[0]).toMatchObject({ threadId, isRead: false, messageCount: turn * 2 - 1, subject });

      world.clock.pass(60_000);
      const answer = await send(
        world,
        ada.id,
        { to: "jane@example.com", subject: undefined, body: `<p>Antwort ${turn} – で</p>`, threadId },
        { waits: true },
      );
      expect(answer.body).toMatchObject({ status: "sent", threadId });
      expect(jane.mails).toHaveLength(turn);
      const raw = jane.mails.at(-1)?.raw ?? Buffer.alloc(0);
      lastRead = await program.read(raw);
      expect(lastRead).toMatchObject({
        subject: `Re: ${subject}`,
        from: { address: "ada@inbox.localhost" },
        to: [{ address: "jane@example.com" }],
        messageId: `<${answer.body.messageId}@inbox.localhost>`,
        date: world.clock.now().toISOString(),
      });
      expect(lastRead.text).toMatch(
        new RegExp(`^Antwort ${turn} – で\n\nOn [^\n]* UTC, Jäne Doe <jane@example.com> wrote:\n> Frage ${turn} – で`),
      );
      expect(lastRead.html).toContain(`Frage ${turn} – で`);
      expect(await signatureOf(raw, pem)).toBe("pass");
    }

    // Each mail names its parent and all earlier mails, by either side.
    expect(program.thread()).toEqual(program.mails.map(({ id }) => id));
    for (const [index, { references }] of program.mails.entries()) {
      expect(references).toEqual(program.mails.slice(0, index).map(({ id }) => id));
    }
    const { body } = await world.api(`/v1/threads/${threadId}/messages`);
    expect(body.total).toBe(6);
    expect(body.isRead).toBe(true);
    expect(body.data.map(({ rfcMessageId }: { rfcMessageId: string }) => rfcMessageId)).toEqual(
      program.mails.map(({ id }) => id),
    );
    program.close();
  }, 30_000);
});

describe("mail to an inbox of this service", () => {
  const startWorld = worldsOn("embedded");

  test("arrives through SMTP, and the reply to it joins the thread", async () => {
    await using world = await startWorld();
    const [ada, bob] = [await newInbox(world, world.apiKey, "ada"), await newInbox(world, world.apiKey, "bob")];
    const first = await send(world, ada, { to: "BOB+work@inbox.localhost" }, { waits: true });
    expect(first.body.status).toBe("sent");
    const { body: arrived } = await world.api(`/v1/inboxes/${bob}/threads`);
    expect(arrived.data[0]).toMatchObject({ isRead: false, messageCount: 1, subject: "Hello" });

    const { threadId } = arrived.data[0];
    await send(world, bob, { to: "ada@inbox.localhost", subject: undefined, threadId }, { waits: true });
    const { body: back } = await world.api(`/v1/threads/${first.body.threadId}/messages`);
    expect(back.data.map(({ direction, subject }: Record<string, string>) => [direction, subject])).toEqual([
      ["outbound", "Hello"],
      ["inbound", "Re: Hello"],
    ]);
    expect(back.isRead).toBe(false);
  });
});

/** The result of another implementation that verifies the signature. */
async function signatureOf(raw: Buffer, pem: string): Promise<string | undefined> {
  const resolver = async (name: string, type: string) => {
    if (type === "TXT" && name === "mail._domainkey.inbox.localhost") return [[publicKeyRecord(pem)]];
    throw Object.assign(new Error("no such name"), { code: "ENOTFOUND" });
  };
  const { results } = await dkimVerify(raw, { resolver });
  return results[0]?.status?.result;
}

async function disposable<T extends { close(): Promise<void> }>(made: Promise<T>): Promise<T & AsyncDisposable> {
  const thing = await made;
  return Object.assign(thing, { [Symbol.asyncDispose]: () => thing.close() });
}
