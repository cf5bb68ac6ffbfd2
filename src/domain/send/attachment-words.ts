import { mediaTypeOfName, octetStream, parseMediaType } from "../../standards/media-type.ts";
import type { Fault } from "../errors.ts";

/** One attachment of a request in JSON. It names exactly one source: its content, an upload, or an attachment of a message. */
export interface AskedAttachment {
  /** Base64. */
  content?: string | undefined;
  uploadId?: string | undefined;
  /** The message of an attachment to send again. `filename` is the stored name of that attachment. */
  messageId?: string | undefined;
  filename?: string | undefined;
  contentType?: string | undefined;
  inline?: boolean | undefined;
  contentId?: string | undefined;
}

/** The faults of the attachments of a request that can be found without looking anything up. */
export function attachmentFaults(asked: readonly AskedAttachment[]): Fault[] {
  const contentIds = new Set<string>();
  return asked.flatMap((attachment, index) => {
    const faults = faultsOf(attachment, contentIds);
    if (attachment.contentId !== undefined) contentIds.add(attachment.contentId);
    return faults.map(({ field, detail }) => ({ pointer: `#/attachments/${index}${field}`, detail }));
  });
}

/** The faults of attachments whose Content-ID another file of the same mail already has. */
export function faultsBeside(
  asked: readonly AskedAttachment[],
  files: readonly Pick<AskedAttachment, "contentId">[],
): Fault[] {
  const taken = new Set(files.map(({ contentId }) => contentId));
  return asked.flatMap(({ contentId }, index) =>
    contentId !== undefined && taken.has(contentId)
      ? [{ pointer: `#/attachments/${index}/contentId`, detail: doubledContentId }]
      : [],
  );
}

const doubledContentId = "must be different for each attachment";

type Placed = { field: "" | `/${keyof AskedAttachment}`; detail: string };

function faultsOf(asked: AskedAttachment, taken: ReadonlySet<string>): Placed[] {
  const { content, uploadId, messageId, filename, contentType, inline, contentId } = asked;
  const faults: Placed[] = [];
  const sources = [content, uploadId, messageId].filter((source) => source !== undefined);
  if (sources.length !== 1) {
    faults.push({ field: "", detail: 'must have exactly one of "content", "uploadId" and "messageId"' });
  }
  if (filename === undefined && (content !== undefined || messageId !== undefined)) {
    faults.push({
      field: "/filename",
      detail: `is required with "${content === undefined ? "messageId" : "content"}"`,
    });
  }
  if (content !== undefined && !isBase64(content)) {
    faults.push({ field: "/content", detail: "must be base64 with its padding and without white space" });
  }
  if (contentType !== undefined && givenMediaType(contentType) === undefined) {
    faults.push({ field: "/contentType", detail: mediaTypeRule });
  }
  if (contentId === undefined) {
    if (inline === true) faults.push({ field: "/contentId", detail: 'is required with "inline"' });
  } else if (!isContentId(contentId)) {
    faults.push({ field: "/contentId", detail: "must be 1 to 128 of the characters A-Z a-z 0-9 . _ @ -" });
  } else if (taken.has(contentId)) {
    faults.push({ field: "/contentId", detail: doubledContentId });
  }
  return faults;
}

/** Whether a text is an allowed Content-ID. HTML refers to a picture by `cid:` and its Content-ID. */
export function isContentId(text: string): boolean {
  return /^[A-Za-z0-9._@-]{1,128}$/.test(text);
}

/** Whether a text is base64 (RFC 4648 §4). */
export function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
}

/**
 * The media type in a request, or `undefined` if it is not allowed. Multipart types are not, because mail programs would read them as part
 * of the structure of our mail. Of the `message/` types only that of a whole mail is allowed.
 */
export function givenMediaType(text: string): string | undefined {
  const type = parseMediaType(text);
  return type === undefined || !isCarried(type) ? undefined : type;
}

export const mediaTypeRule =
  'must be a type such as "application/pdf", at most 127 characters; not multipart, and no message type except "message/rfc822"';

/** The media type of a stored file; if unknown, that of its name. A type that is not allowed becomes `application/octet-stream`. */
export function inheritedMediaType(inherited: string | undefined, filename: string): string {
  const type = inherited === undefined ? mediaTypeOfName(filename) : parseMediaType(inherited);
  return type !== undefined && isCarried(type) ? type : octetStream;
}

function isCarried(type: string): boolean {
  return !type.startsWith("multipart/") && (!type.startsWith("message/") || type === "message/rfc822");
}
