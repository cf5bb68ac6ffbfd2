import type { Authentication } from "../domain/receive/authentication.ts";
import { judgeActions, type Opinion } from "../domain/receive/opinion.ts";
import { silence } from "../primitives/silence.ts";
import { jsonFields } from "../standards/json.ts";
import { webhookHeaders, webhookSigner } from "../standards/signature.ts";
import { oneLine, percentEncoded } from "../standards/text.ts";
import type { WebhookClient, WebhookReply } from "./client.ts";

/** The operator's judge (JUDGE_URL): a program of the operator's with our own protocol, or rspamd. */
export interface JudgeAddress {
  kind: "own" | "rspamd";
  url: string;
}

/** A mail for the judge. */
export interface JudgeQuestion {
  /** A new id for each question. */
  id: string;
  at: Date;
  raw: Uint8Array;
  envelopeFrom: string;
  recipients: readonly string[];
  /** The host that sent the mail; undefined if it is unknown, and for mail of our own inboxes. */
  clientAddress: string | undefined;
  heloName: string | undefined;
  authentication: Authentication | undefined;
}

/** Asks the judge about a mail. A text is the reason why there is no opinion; undefined: the mail is too large for it. It never rejects. */
export type AskJudge = (mail: JudgeQuestion) => Promise<Opinion | string | undefined>;

/** Larger mail is not sent to the judge: it would take longer than its time. */
const mostBytes = 5 << 20;

export interface AskerOptions {
  /** May connect to private addresses, since the operator has chosen this one. */
  client: Pick<WebhookClient, "post">;
  secret: string | undefined;
  now: () => Date;
}

/** Makes the function that asks. While the judge leaves all questions unanswered, no mail waits for it. */
export function judgeAsker({ kind, url }: JudgeAddress, { client, secret, now }: AskerOptions): AskJudge {
  const headersOf = kind === "rspamd" ? rspamdHeaders : ownHeaders(secret);
  const opinionIn = kind === "rspamd" ? rspamdOpinion : ownOpinion;
  const judge = silence({ now, probe: async () => !isLate(await ask({ ...probeMail, at: now() })) });

  async function ask(mail: JudgeQuestion): Promise<WebhookReply> {
    const request = { url, headers: await headersOf(mail), body: mail.raw, keptBytes: mostOfAnswer };
    const first = await client.post(request);
    // The judge had closed the kept connection. To ask twice does no harm.
    return isStale(first) ? client.post({ ...request, fresh: true }) : first;
  }

  return async (mail) => {
    if (mail.raw.length > mostBytes) return undefined;
    if (await judge.isSilent()) return "it has left the last questions unanswered";
    const reply = await ask(mail);
    if (isLate(reply)) judge.timedOut();
    else judge.answered();
    if (reply.kind !== "answered") return reply.error;
    if (reply.status !== 200) return `it answered ${reply.status}`;
    return opinionIn(jsonFields(reply.body) ?? {}) ?? "its answer is not of the right form";
  };
}

/** The most bytes of an answer that are read. That of rspamd names all rules that a mail matched. */
const mostOfAnswer = 256 << 10;

/** Our own mail, which asks whether the judge answers at all. */
const probeMail: Omit<JudgeQuestion, "at"> = {
  id: "probe",
  raw: new TextEncoder().encode("Subject: Does the judge answer?\r\n\r\n"),
  envelopeFrom: "",
  recipients: [],
  clientAddress: undefined,
  heloName: undefined,
  authentication: undefined,
};

function isLate(reply: WebhookReply): boolean {
  return reply.kind === "no_answer" && reply.error.startsWith("timed out");
}

function isStale(reply: WebhookReply): boolean {
  return reply.kind === "no_answer" && reply.stale === true;
}

/** The headers of a question in our own protocol, signed like a webhook if there is a secret. */
function ownHeaders(secret: string | undefined) {
  const signing = secret === undefined ? undefined : webhookSigner(secret);
  return async (mail: JudgeQuestion): Promise<Record<string, string>> => {
    const { id, at, raw, authentication } = mail;
    const signature = signing && (await webhookHeaders({ eventId: id, sentAt: at, body: raw, signer: await signing }));
    return {
      ...signature,
      "content-type": "message/rfc822",
      "envelope-from": percentEncoded(mail.envelopeFrom),
      "envelope-to": recipientsIn(mail, percentEncoded),
      ...(mail.clientAddress !== undefined && { "client-address": mail.clientAddress }),
      ...(mail.heloName !== undefined && { "client-helo": percentEncoded(mail.heloName) }),
      ...(authentication !== undefined && { authentication: asciiJson(authentication) }),
    };
  };
}

/** The headers of rspamd's protocol (rspamd.com/doc/developers/protocol.html). */
async function rspamdHeaders(mail: JudgeQuestion): Promise<Record<string, string>> {
  return {
    "content-type": "message/rfc822",
    "queue-id": mail.id,
    from: asciiOf(mail.envelopeFrom),
    rcpt: recipientsIn(mail, asciiOf),
    ...(mail.clientAddress !== undefined && { ip: mail.clientAddress }),
    ...(mail.heloName !== undefined && { helo: asciiOf(mail.heloName) }),
  };
}

/** The most characters of the recipients in a header. Servers commonly take 16 KiB of headers. */
const mostOfRecipients = 8_192;

/** The recipients with commas between them, as many as fit. */
function recipientsIn({ recipients }: JudgeQuestion, encoded: (address: string) => string): string {
  let text = "";
  for (const recipient of recipients) {
    const longer = text === "" ? encoded(recipient) : `${text}, ${encoded(recipient)}`;
    if (longer.length > mostOfRecipients) break;
    text = longer;
  }
  return text;
}

/** A text for a header of rspamd, which decodes nothing: only characters that a header cannot have are percent-encoded. */
function asciiOf(text: string): string {
  return text.toWellFormed().replace(/[^ -~]+/g, encodeURIComponent);
}

function asciiJson(value: object): string {
  return JSON.stringify(value).replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

type Fields = Readonly<Record<string, unknown>>;

/** The answer of our own protocol: `{action, reason?, score?}`. */
function ownOpinion({ action: word, reason, score }: Fields): Opinion | undefined {
  const action = judgeActions.find((each) => each === word);
  if (action === undefined || !(score === undefined || score === null || isNumber(score))) return undefined;
  return {
    action,
    reason: typeof reason === "string" ? oneLine(reason).slice(0, mostOfReason).toWellFormed() : undefined,
    spam: isNumber(score) ? { score, required: null, isSpam: action !== "take" } : undefined,
  };
}

const mostOfReason = 200;

/** Rspamd's answer. It only says whether a mail is spam: the policies of the inboxes say what happens to spam. */
function rspamdOpinion({ action, score, required_score: required }: Fields): Opinion | undefined {
  if (typeof action !== "string" || !isNumber(score)) return undefined;
  return {
    action: "take",
    spam: { score, required: isNumber(required) ? required : null, isSpam: spamActions.has(action) },
  };
}

/** The actions of rspamd for spam. It has others for mail that should come again later, which is not spam. */
const spamActions: ReadonlySet<string> = new Set(["reject", "add header", "rewrite subject"]);

function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}
