import type { AutoSubmitted } from "../automated.ts";
import type { CustomHeader } from "../message.ts";
import type { BodyFormat } from "./body-format.ts";
import type { Recipient } from "./recipients/entries.ts";

/** What a caller asked to be sent, as far as it tells one request from another. */
export interface AskedMail {
  /** As given, doubles dropped. Those that `replyAll` or a left-out `to` derives are not among them. */
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
  /** `null`: no name, also where the inbox has one. */
  fromName?: string | null | undefined;
  fromAddr?: string | undefined;
  headers?: readonly CustomHeader[] | undefined;
  metadata?: Readonly<Record<string, string>> | undefined;
  attachments?: readonly AttachmentPrint[] | undefined;
  bodyFormat?: BodyFormat | undefined;
  replyToMessageId?: string | undefined;
  replyAll?: boolean | undefined;
  forwardOf?: string | undefined;
  forwardAs?: "inline" | "attachment" | undefined;
  includeAttachments?: boolean | undefined;
}

/** An attachment whatever its source: the same file as JSON, in a form or by upload is one request. */
export interface AttachmentPrint {
  filename: string;
  contentType: string;
  inline: boolean;
  contentId: string | undefined;
  sha256: string;
  sizeBytes: number;
}

/**
 * What the fingerprint of a send is made of. A request with none of the newer fields makes what it made before there were any, so that
 * a key in use stays good over an upgrade: what is left out, and what equals its default, is not there at all.
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
    forwardAs: unlessDefault(asked.forwardAs, "inline"),
    includeAttachments: unlessDefault(asked.includeAttachments, true),
  };
}

/** Every field of what is asked, by its type: one that is left out here would make two requests one. */
type Fingerprinted = Record<Exclude<keyof AskedMail, "recipients"> | Recipient["type"], unknown>;

/** An entry without a name is its address, however it was spelt. */
function entriesOf(recipients: readonly Recipient[]): Record<Recipient["type"], unknown[]> {
  const entries: Record<Recipient["type"], unknown[]> = { to: [], cc: [], bcc: [] };
  for (const { type, address, name } of recipients)
    entries[type].push(name === undefined ? address : { address, name });
  return entries;
}

/** One address as `to` is what was there before several could be. */
function oneOrMore(entries: readonly unknown[]): unknown {
  return entries.length > 1 ? entries : entries[0];
}

function unlessEmpty<Item>(items: readonly Item[]): readonly Item[] | undefined {
  return items.length === 0 ? undefined : items;
}

function unlessDefault<Value>(value: Value | undefined, usual: Value): Value | undefined {
  return value === usual ? undefined : value;
}

/** Names of headers compare without case. */
function byName(headers: readonly CustomHeader[]): Record<string, string> {
  return Object.fromEntries(headers.map(({ name, value }) => [name.toLowerCase(), value]));
}

/** These fields and no others of whatever is given. */
function attachmentPrint({ filename, contentType, inline, contentId, sha256, sizeBytes }: AttachmentPrint) {
  return { filename, contentType, inline, contentId, sha256, sizeBytes };
}
