import type { Chance } from "../../tests/support/chance.ts";
import { deliver, newMail } from "./deliver.ts";
import type { LedgerInbox } from "./ledger.ts";
import { post, postBeyondReach, postHalf } from "./post.ts";
import { inSession, stuffed } from "./smtp-client.ts";
import { type Driver, eventually, type World } from "./world.ts";

/** A foreign mail server: it keeps a mail until each recipient's outcome is certain, and retries after 4xx or silence. */
export function mailSender(world: World, chance: Chance, name: string): Driver {
  const { ledger } = world;
  let number = 0;

  return async function sendOne() {
    number += 1;
    const token = `m${name}n${number}`;
    if (chance.is(0.06)) return hangUpMidway(token);
    if (chance.is(0.04)) return sendToNobody();
    if (chance.is(0.04)) return sendBeyondReach(token);
    const recipients = someInboxes();
    const raw = compose(token, recipients);
    const mail = newMail(world, token, recipients, raw);
    // An attempt by one way may be repeated by the other.
    const handIn = (again = false) =>
      chance.is(0.35) ? post(world, mail, raw, again) : deliver(world, chance, mail, raw, again);
    await eventually(world, chance, () => handIn());
    // A server that did not read the answer sends the whole mail again.
    if (chance.is(0.08)) {
      ledger.count("mail: sent again after 250");
      await handIn(true).catch(() => undefined);
    }
  };

  async function sendBeyondReach(token: string): Promise<void> {
    const [to] = someInboxes();
    const other = chance.pick(world.accounts.filter((account) => account !== to?.account));
    if (to === undefined) return;
    const raw = compose(token, [to]);
    newMail(world, token, [to], raw);
    await postBeyondReach(world, { raw, to, apiKey: other.apiKey }).catch(() => undefined);
  }

  /** Without a final dot there is no mail, and none of its bytes may ever show. */
  async function hangUpMidway(token: string): Promise<void> {
    const recipients = someInboxes();
    const raw = compose(token, recipients);
    newMail(world, token, recipients, raw);
    if (chance.is(0.3)) return postHalf(world, chance, recipients, raw);
    ledger.count("smtp: hung up in DATA");
    await inSession(world, chance, async (client, ask) => {
      await ask("MAIL FROM:<>", "2");
      for (const { address } of recipients) await ask(`RCPT TO:<${address}>`, "2");
      await ask("DATA", "3");
      const content = stuffed(raw);
      client.send(content.subarray(0, chance.whole(0, content.length)));
    }).catch(() => undefined);
  }

  async function sendToNobody(): Promise<void> {
    const [to, refusal] = chance.is(0.5)
      ? [`nobody${chance.whole(1, 1e6)}@${world.mailDomain}`, "550 5.1.1"]
      : ["ada@elsewhere.example", "550 5.7.1"];
    await inSession(world, chance, async (_client, ask) => {
      await ask("MAIL FROM:<sender@mta.example>", "2");
      const reply = await ask(`RCPT TO:<${to}>`);
      ledger.count("smtp: to nobody");
      if (!reply.startsWith(refusal) && !reply.startsWith("4")) {
        ledger.violation("I2", `RCPT of ${to} was answered ${reply}`);
      }
    }).catch(() => undefined);
  }

  function someInboxes(): LedgerInbox[] {
    const wanted = chance.is(0.7) ? 1 : chance.whole(2, 4);
    const inboxes = [...ledger.inboxes.values()];
    return [...new Set(Array.from({ length: wanted }, () => chance.pick(inboxes)))];
  }

  function compose(token: string, recipients: readonly LedgerInbox[]): Uint8Array {
    const isForged = chance.is(0.15);
    if (isForged) ledger.forged.add(token);
    const head = [
      `From: Sender ${name} <sender${name}@${isForged ? "bank" : "mta"}.example>`,
      `To: ${recipients.map(({ address }) => address).join(", ")}`,
      `Subject: ${token}`,
      `Message-ID: <${token}@mta.example>`,
      `Date: ${new Date().toUTCString()}`,
      ...(chance.is(0.5) ? [`In-Reply-To: <${ancestor()}>`] : []),
    ];
    if (chance.is(0.15)) return withAttachment(head, token);
    const lines = Array.from({ length: chance.whole(1, 40) }, () => chance.pick(bodyLines));
    // Some are larger than the unsent data that a listener may have.
    if (chance.is(0.03)) lines.push(...Array<string>(100).fill("a".repeat(900)));
    const hasOctets = chance.is(0.2);
    return Buffer.from([...head, "", ...lines, hasOctets ? "caf\xe9 \xff\xfe" : ".", ""].join("\r\n"), "latin1");
  }

  /** Often one of the last mails of any inbox: a conversation in that one, and a forgery in all others. */
  function ancestor(): string {
    return `m${chance.pick(world.senderNames)}n${Math.max(1, number - chance.whole(1, 6))}@mta.example`;
  }

  function withAttachment(head: readonly string[], token: string): Uint8Array {
    const content = Buffer.alloc(chance.whole(1, chance.is(0.1) ? 700_000 : 20_000), token).toString("base64");
    const boundary = `=_${token}`;
    const lines = [
      ...head,
      "MIME-Version: 1.0",
      `Content-Type: multipart/mixed; boundary="${boundary}"`,
      "",
      `--${boundary}`,
      "Content-Type: text/plain",
      "",
      "See the file",
      `--${boundary}`,
      `Content-Type: application/octet-stream; name="${token}.bin"`,
      "Content-Transfer-Encoding: base64",
      `Content-Disposition: attachment; filename="${token}.bin"`,
      "",
      ...(content.match(/.{1,76}/g) ?? []),
      `--${boundary}--`,
      "",
    ];
    return Buffer.from(lines.join("\r\n"), "latin1");
  }
}

const bodyLines = ["Hello there", "", ".", "..", ".hidden", "> quoted", "From the start", "a".repeat(900), "--", "-- "];
