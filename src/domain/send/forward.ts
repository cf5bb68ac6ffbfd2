import { storedNames } from "../../standards/filename.ts";
import { cleanText, oneLine, truncateCodePoints, truncateUtf8, utf8Length } from "../../standards/text.ts";
import type { Mailbox } from "../message.ts";
import { instantInWords, personInWords, plainWords, withoutLastLineBreaks } from "../quote.ts";
import { inheritedMediaType, isContentId } from "./attachment-words.ts";

/** What a forward shows of a message. Whoever had a blind copy is not in it. */
export interface ForwardedMessage {
  from: Mailbox | undefined;
  at: Date;
  subject: string;
  to: readonly string[];
  cc: readonly string[];
  bodyText: string;
  bodyHtml: string | undefined;
}

/** The caller's text, if any, with the forwarded message under it. */
export function withForwardedText(body: string, original: ForwardedMessage): string {
  const own = withoutLastLineBreaks(body);
  const head = [forwardLine, ...forwardedHead(original).map(([name, words]) => `${name}: ${words}`)].join("\n");
  return `${own === "" ? "" : `${own}\n\n`}${head}\n\n${forwardedText(original.bodyText)}`;
}

/** What mail programs, and our own reading of replies, know a forward by. */
export const forwardLine = "---------- Forwarded message ----------";

/** The fields that stand over a forwarded message, each on one line. */
export function forwardedHead({ from, at, subject, to, cc }: ForwardedMessage): [name: string, words: string][] {
  const head: [string, string][] = [
    ["From", personInWords(from)],
    ["Date", instantInWords(at)],
    ["Subject", truncateCodePoints(oneLine(subject), maxSubjectLength)],
    ["To", listed(to)],
  ];
  return cc.length === 0 ? head : [...head, ["Cc", listed(cc)]];
}

const maxSubjectLength = 998;

/** A stranger may have written to thousands; nobody reads more of them than that. */
const maxListed = 100;

function listed(addresses: readonly string[]): string {
  const shown = addresses.slice(0, maxListed).map((address) => plainWords(address).replaceAll(" ", ""));
  const more = addresses.length - shown.length;
  return more === 0 ? shown.join(", ") : `${shown.join(", ")} and ${more} more`;
}

/** A text over 1 MiB is cut. */
const maxTextBytes = 1024 * 1024;
const cutMark = "\n[...]";

function forwardedText(text: string): string {
  const written = cleanText(text.trimEnd());
  if (utf8Length(written) <= maxTextBytes) return written;
  return `${truncateUtf8(written, maxTextBytes - cutMark.length)}${cutMark}`;
}

/** An attachment as a message has it. */
export interface ForwardedAttachment {
  filename: string;
  contentType: string;
  inline: boolean;
  contentId: string | undefined;
}

/**
 * The attachments of a forwarded message as the new mail has them. One whose Content-ID is taken, by the caller or by one before, or
 * can't be named by a `cid:` of ours goes along as a file: HTML that named it would show another picture.
 */
export function forwardedAttachments<Attachment extends ForwardedAttachment>(
  attachments: readonly Attachment[],
  callersContentIds: readonly string[],
): Attachment[] {
  const taken = new Set(callersContentIds);
  return attachments.map((attachment) => {
    const { contentId, filename } = attachment;
    const contentType = inheritedMediaType(attachment.contentType, filename);
    if (contentId === undefined || taken.has(contentId) || !isContentId(contentId)) {
      return { ...attachment, contentType, inline: false, contentId: undefined };
    }
    taken.add(contentId);
    return { ...attachment, contentType };
  });
}

/** The name of a mail that is attached whole: its subject, in which a slash is no folder. */
export function nameOfForwardedMail(subject: string): string {
  const words = oneLine(subject).replace(/[/\\]/g, "-");
  const [name = defaultName] = storedNames([{ filename: `${words}.eml`, contentType: "message/rfc822" }]);
  return words === "" || name === ".eml" ? defaultName : name;
}

const defaultName = "message.eml";

/** A mail that must not be encoded is attached as one only where it needs no encoding (RFC 2046 §5.2.1); else as a file of bytes. */
export function typeOfForwardedMail(isSevenBit: boolean): "message/rfc822" | "application/octet-stream" {
  return isSevenBit ? "message/rfc822" : "application/octet-stream";
}
