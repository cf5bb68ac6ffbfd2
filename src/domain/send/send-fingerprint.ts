import type { AutoSubmitted } from "../automated.ts";
import type { CustomHeader } from "../message.ts";
import type { BodyFormat } from "./body-format.ts";
import type { Recipient } from "./recipients/entries.ts";

/** The fields of a request that distinguish it from another. */
export interface AskedMail {
  /** As given, without duplicates. Recipients that come from the answered message are not among them. */
  recipients: readonly Recipient[];
  subject: string | undefined;
  body: string | undefined;
  bodyHtml: string | undefined;
  threadId: string | undefined;
  includeQuote: boolean;
  replyTo: string | undefined;
  readUpToMessageId: string | undefined;
  autoSubmitted: AutoSubmitted | undefined;
  ignoreLoop: true | undefined;
  /** `null`: no name, even if the inbox has one. */
  fromName?: string | null | undefined;
  fromAddr?: string | undefined;
  headers?: readonly CustomHeader[] | undefined;
  metadata?: Readonly<Record<string, string>> | undefined;
  attachments?: readonly AttachmentPrint[] | undefined;
  bodyFormat?: BodyFormat | undefined;
  replyToMessageId?: string | undefined;
  replyAll?: boolean | undefined;
  ifUnanswered?: boolean | undefined;
  forwardOf?: string | undefined;
  forwardAs?: "inline" | "attachment" | undefined;
  includeAttachments?: boolean | undefined;
  /** Whether the mail gets header fields by which its recipient unsubscribes. */
  unsubscribe?: boolean | undefined;
  /** Labels for the thread, in their stored form. */
  labels?: readonly string[] | undefined;
  /** When to send it; at once if this has passed. */
  sendAt?: Date | undefined;
  /** Whether it is sent only if no mail comes into the thread until then. */
  unlessReplied?: boolean | undefined;
}

/** The fields of an attachment in the fingerprint. The same file in JSON, in a form or by upload gives the same fingerprint. */
export interface AttachmentPrint {
  filename: string;
  contentType: string;
  inline: boolean;
  contentId: string | undefined;
  sha256: string;
  sizeBytes: number;
}

/**
 * The value that the fingerprint of a send is made from. A field that is absent or has its default is left out, so that both make the same
 * fingerprint, and so that a new field does not change it for the keys in use.
 */
export function fingerprintBody(asked: AskedMail): Fingerprinted {
  const { recipients, headers = [], metadata = {}, attachments = [] } = asked;
  const { to, cc, bcc } = entriesOf(recipients);
  return {
    subject: asked.subject,
    body: asked.body,
    bodyHtml: asked.bodyHtml,
    threadId: asked.threadId,
    includeQuote: asked.includeQuote,
    replyTo: asked.replyTo,
    readUpToMessageId: asked.readUpToMessageId,
    autoSubmitted: asked.autoSubmitted,
    ignoreLoop: asked.ignoreLoop,
    fromName: asked.fromName,
    fromAddr: asked.fromAddr,
    replyToMessageId: asked.replyToMessageId,
    forwardOf: asked.forwardOf,
    to: oneOrMore(to),
    cc: unlessEmpty(cc),
    bcc: unlessEmpty(bcc),
    headers: headers.length === 0 ? undefined : byName(headers),
    metadata: Object.keys(metadata).length === 0 ? undefined : metadata,
    attachments: unlessEmpty(attachments.map(attachmentPrint)),
    bodyFormat: unlessDefault(asked.bodyFormat, "auto"),
    replyAll: unlessDefault(asked.replyAll, false),
    ifUnanswered: unlessDefault(asked.ifUnanswered, false),
    forwardAs: unlessDefault(asked.forwardAs, "inline"),
    includeAttachments: unlessDefault(asked.includeAttachments, true),
    unsubscribe: unlessDefault(asked.unsubscribe, false),
    labels: unlessEmpty(asked.labels?.toSorted() ?? []),
    sendAt: asked.sendAt?.toISOString(),
    unlessReplied: unlessDefault(asked.unlessReplied, false),
  };
}

/** The type requires every field of a request, because without one of them two different requests would have the same fingerprint. */
type Fingerprinted = Record<Exclude<keyof AskedMail, "recipients"> | Recipient["type"], unknown>;

/** The recipients by type. An entry without a name becomes its bare address, so that both forms of it are equal. */
function entriesOf(recipients: readonly Recipient[]): Record<Recipient["type"], unknown[]> {
  const entries: Record<Recipient["type"], unknown[]> = { to: [], cc: [], bcc: [] };
  for (const { type, address, name } of recipients)
    entries[type].push(name === undefined ? address : { address, name });
  return entries;
}

/** A single entry instead of a list with one entry: `to` may be given in either form. */
function oneOrMore(entries: readonly unknown[]): unknown {
  return entries.length > 1 ? entries : entries[0];
}

function unlessEmpty<Item>(items: readonly Item[]): readonly Item[] | undefined {
  return items.length === 0 ? undefined : items;
}

function unlessDefault<Value>(value: Value | undefined, usual: Value): Value | undefined {
  return value === usual ? undefined : value;
}

/** The headers by name in lower case, because the case of header names does not matter. */
function byName(headers: readonly CustomHeader[]): Record<string, string> {
  return Object.fromEntries(headers.map(({ name, value }) => [name.toLowerCase(), value]));
}

/** An attachment with only the fields of the fingerprint. */
function attachmentPrint({ filename, contentType, inline, contentId, sha256, sizeBytes }: AttachmentPrint) {
  return { filename, contentType, inline, contentId, sha256, sizeBytes };
}
