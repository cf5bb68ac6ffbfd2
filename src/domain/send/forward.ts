import { storedNames } from "../../standards/filename.ts";
import { cleanText, oneLine, truncateCodePoints, truncateUtf8, utf8Length } from "../../standards/text.ts";
import type { Mailbox } from "../message.ts";
import { instantInWords, personInWords, plainWords, withoutLastLineBreaks } from "../quote.ts";
import { inheritedMediaType, isContentId } from "./attachment-words.ts";

/** The parts of a message that a forward shows. They do not include the recipients of a blind copy. */
export interface ForwardedMessage {
  from: Mailbox | undefined;
  at: Date;
  subject: string;
  to: readonly string[];
  cc: readonly string[];
  bodyText: string;
  bodyHtml: string | undefined;
}

/** The text of a forward: the text of the request, if any, followed by the forwarded message. */
export function withForwardedText(body: string, original: ForwardedMessage): string {
  const own = withoutLastLineBreaks(body);
  const head = [forwardLine, ...forwardedHead(original).map(([name, words]) => `${name}: ${words}`)].join("\n");
  return `${own === "" ? "" : `${own}\n\n`}${head}\n\n${forwardedText(original.bodyText)}`;
}

/** The line by which mail programs, and our own reading of replies, recognize a forward. */
export const forwardLine = "---------- Forwarded message ----------";

/** The header lines above a forwarded message. */
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

/** The most addresses that are shown in a line. The sender of the forwarded message may have written to thousands. */
const maxListed = 100;

function listed(addresses: readonly string[]): string {
  const shown = addresses.slice(0, maxListed).map((address) => plainWords(address).replaceAll(" ", ""));
  const more = addresses.length - shown.length;
  return more === 0 ? shown.join(", ") : `${shown.join(", ")} and ${more} more`;
}

/** The most bytes of the forwarded text. A longer text is cut. */
const maxTextBytes = 1024 * 1024;
const cutMark = "\n[...]";

function forwardedText(text: string): string {
  const written = cleanText(text.trimEnd());
  if (utf8Length(written) <= maxTextBytes) return written;
  return `${truncateUtf8(written, maxTextBytes - cutMark.length)}${cutMark}`;
}

/** An attachment of a forwarded message. */
export interface ForwardedAttachment {
  filename: string;
  contentType: string;
  inline: boolean;
  contentId: string | undefined;
}

/**
 * The attachments of a forwarded message as they are in the new mail. An attachment becomes a plain file if its Content-ID cannot be
 * written as a `cid:`, or if another file has the same Content-ID, because the HTML would then show the wrong picture.
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

/** The file name of an attached mail: its subject, with slashes replaced so that they name no folder. */
export function nameOfForwardedMail(subject: string): string {
  const words = oneLine(subject).replace(/[/\\]/g, "-");
  const [name = defaultName] = storedNames([{ filename: `${words}.eml`, contentType: "message/rfc822" }]);
  return words === "" || name === ".eml" ? defaultName : name;
}

const defaultName = "message.eml";

/** The media type of an attached mail: a plain file if the mail needs an encoding, which message/rfc822 may not have (RFC 2046 §5.2.1). */
export function typeOfForwardedMail(isSevenBit: boolean): "message/rfc822" | "application/octet-stream" {
  return isSevenBit ? "message/rfc822" : "application/octet-stream";
}
