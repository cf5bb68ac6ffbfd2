import type { CellPeer, HandedMail, HandOver } from "../domain/cell-peer.ts";
import type { RelayOutcome } from "../domain/outcome.ts";
import { answers } from "../domain/receive/answers.ts";
import { jsonFields } from "../standards/json.ts";
import { cleanLine } from "../standards/smtp-reply.ts";
import { percentEncoded } from "../standards/text.ts";
import type { WebhookClient, WebhookReply } from "./client.ts";

export interface MailHanderOptions {
  client: Pick<WebhookClient, "post">;
  /** The INGEST_TOKEN of all cells. */
  token: string;
  /** Our own cell. */
  cell: string;
}

/**
 * Makes the function that hands mail to other cells, by `POST /v1/inbound` with the INGEST_TOKEN that all cells share. A mail whose answer
 * is lost is handed over again: the other cell stores it once.
 */
export function mailHander({ client, token, cell }: MailHanderOptions): HandOver {
  async function post(peer: CellPeer, mail: HandedMail, signal: AbortSignal | undefined): Promise<RelayOutcome[]> {
    const { envelopeFrom, recipients, raw, client: sender, cells = [] } = mail;
    const request = {
      url: `${peer.url}/v1/inbound`,
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "message/rfc822",
        "envelope-from": percentEncoded(envelopeFrom),
        "envelope-to": recipients.map(percentEncoded).join(", "),
        via: [...cells, cell].map((each) => `1.1 inboxd-${each}`).join(", "),
        ...(sender?.address !== undefined && { "client-address": sender.address }),
        ...(sender !== undefined && helo.test(sender.heloName) && { "client-helo": sender.heloName }),
      },
      body: raw,
      keptBytes: mostOfAnswer,
      signal,
    };
    const first = await client.post(request);
    // The other cell had closed the kept connection.
    const isStale = first.kind === "no_answer" && first.stale === true;
    return outcomesOf(peer, recipients, isStale ? await client.post({ ...request, fresh: true }) : first);
  }

  return async (peer, mail, signal) => {
    const outcomes: RelayOutcome[] = [];
    for (const recipients of groupsOf(mail.recipients)) {
      outcomes.push(...(await post(peer, { ...mail, recipients }, signal)));
    }
    return outcomes;
  };
}

/** Asks another cell for the two characters of its CELL. Returns why if it does not say them. */
export async function askCell(
  client: Pick<WebhookClient, "post">,
  { url }: CellPeer,
): Promise<{ cell: string } | { why: string }> {
  const reply = await client.post({ url: `${url}/healthz`, headers: {}, body: undefined });
  if (reply.kind !== "answered") return { why: reply.error };
  const cell = /"cell":"([0-9A-Za-z]{2})"/.exec(reply.body)?.[1];
  return cell === undefined ? { why: `answered ${reply.status}` } : { cell };
}

/** The names that a header can have. A client may give any. */
const helo = /^[\x21-\x7e]{1,255}$/;
/** An answer names up to a hundred addresses. */
const mostOfAnswer = 64 << 10;
/** The most recipients of a request, and of the characters of their header. Servers commonly take 16 KiB of headers. */
const mostRecipients = 100;
const mostOfHeader = 8_192;

function groupsOf(recipients: readonly string[]): string[][] {
  const groups: string[][] = [];
  let length = 0;
  for (const recipient of recipients) {
    const own = percentEncoded(recipient).length + 2;
    const last = groups.at(-1);
    if (last === undefined || last.length === mostRecipients || length + own > mostOfHeader) {
      groups.push([recipient]);
      length = own;
    } else {
      last.push(recipient);
      length += own;
    }
  }
  return groups;
}

/** The outcome for each recipient, as an SMTP server would have answered. */
function outcomesOf({ host }: CellPeer, recipients: readonly string[], reply: WebhookReply): RelayOutcome[] {
  if (reply.kind !== "answered") {
    const maybeAccepted = reply.kind === "no_answer" && reply.connected;
    return recipients.map(() => notReached(`Cannot reach the cell ${host}: ${reply.error}`, maybeAccepted));
  }
  const answer: InboundAnswer = jsonFields(reply.body) ?? {};
  if (reply.status === 200) {
    const statuses = new Map(answer.recipients?.map(({ address, status }) => [address, status]));
    return recipients.map((address) => ofStatus[statuses.get(address) ?? ""] ?? answers.unavailable);
  }
  const refused = answer.resource === "inbox" || answer.code !== "not_found" ? ofCode[answer.code ?? ""] : undefined;
  return recipients.map(() => refused ?? notReached(`The cell ${host} answered ${reply.status}`, false));
}

const ofStatus: Readonly<Record<string, RelayOutcome>> = {
  stored: answers.stored,
  quarantined: answers.stored,
  unknown: answers.unknown,
  disabled: answers.disabled,
  refused: answers.refused,
  full: answers.full,
};

const ofCode: Readonly<Record<string, RelayOutcome>> = {
  not_found: answers.unknown,
  inbox_disabled: answers.disabled,
  sender_refused: answers.refused,
  storage_full: answers.full,
  payload_too_large: answers.tooLarge,
  mail_loop: answers.looping,
  service_unavailable: answers.unavailable,
};

function notReached(text: string, maybeAccepted: boolean): RelayOutcome {
  return { kind: "retry", failure: { code: null, enhancedCode: null, message: cleanLine(text) }, maybeAccepted };
}

interface InboundAnswer {
  recipients?: { address: string; status: string }[];
  code?: string;
  resource?: string;
}
