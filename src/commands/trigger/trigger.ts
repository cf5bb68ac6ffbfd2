import type { Inboxd, Schemas } from "../../../sdk/typescript/src/inboxd.ts";
import { simulatedReport } from "../../mail/report/simulated-report.ts";
import { realWorld } from "../../service/time-and-chance.ts";
import { admin } from "../admin.ts";
import { clientOf, inboxIdOf, type ServerOptions } from "../client.ts";
import { messageOf } from "../failure.ts";
import { type HandedInMail, handIn, smtpServer } from "../smtp.ts";
import { print } from "../terminal.ts";
import { codeMail, invoiceMail, type MadeMail, question, replyTo } from "./mails.ts";

/** The mails that can come in. */
export type Trigger = "reply" | "bounce" | "code" | "invoice";

export interface TriggerOptions extends ServerOptions {
  smtp?: string;
}

type Message = Schemas["Message"];

/** Hands in one mail to an inbox, as another mail server would. */
export async function trigger(what: Trigger, name: string, { smtp, ...server }: TriggerOptions): Promise<object> {
  const client = clientOf(server);
  const door = smtpServer(smtp, client.baseUrl);
  const { id, address } = await client.inboxes.get(await inboxIdOf(client, name));
  const newest = what === "reply" || what === "bounce" ? await newestSent(client, id) : undefined;
  if (what === "bounce") return bounced(client, newest, (mail) => handIn(door, mail));
  const { raw, from, subject, shown } = await mailFor(what, address, newest);
  const answer = await handIn(door, { envelopeFrom: from, to: address, raw });
  return { from, to: address, subject, ...shown, answer };
}

function mailFor(what: Exclude<Trigger, "bounce">, inbox: string, newest: Message | undefined): Promise<MadeMail> {
  if (what === "code") return codeMail(inbox, realWorld);
  if (what === "invoice") return invoiceMail(inbox, realWorld);
  return newest === undefined ? question(inbox, realWorld) : replyTo(newest, inbox, realWorld);
}

async function newestSent({ messages }: Inboxd, inboxId: string): Promise<Message | undefined> {
  const { data } = await messages.list(inboxId, { direction: "outbound", limit: 1 }).page();
  const [newest] = data;
  return newest && messages.get(newest.id);
}

/** Hands in a report that the first recipient of a sent mail does not exist (RFC 3464), from the null sender. */
async function bounced(
  { messages }: Inboxd,
  message: Message | undefined,
  deliver: (mail: HandedInMail) => Promise<string>,
): Promise<object> {
  const [recipient] = message?.recipients ?? [];
  if (message === undefined || recipient === undefined)
    throw new Error("Cannot bounce: this inbox has sent no mail; send one by inboxd send");
  const to = await returnPathOf(message);
  const raw = simulatedReport({
    fate: "bounce",
    recipient: recipient.address,
    envelopeFrom: to,
    envelopeId: message.id,
    head: headOf(await messages.raw(message.id)),
    at: realWorld.now(),
  });
  const answer = await deliver({ envelopeFrom: "", to, raw });
  return { message: message.id, subject: message.subject, recipient: recipient.address, to, answer };
}

/**
 * The return path of a mail. Only the service knows its signature, so it is asked for by the operator's way into the database. A client of
 * a distant service reports to the inbox instead, as some servers do.
 */
async function returnPathOf({ id, fromAddr }: Message): Promise<string> {
  try {
    const { address } = (await admin({
      operation: "return path",
      arguments: { message: id, from: fromAddr },
    })) as { address: string };
    return address;
  } catch (error) {
    print(`The bounce goes to the inbox, not to the return path of the mail: ${messageOf(error)}\n`, process.stderr);
    return fromAddr;
  }
}

function headOf(mail: Uint8Array): string {
  const [head = ""] = new TextDecoder().decode(mail).split("\r\n\r\n", 1);
  return head;
}
