import { createHash } from "node:crypto";
// We use mimetext only to join the text and the HTML as multipart/alternative (`textsOf`).
import { createMimeMessage } from "mimetext/browser";
import type { OutgoingAttachment, OutgoingMail } from "../../domain/message.ts";
import { mimeDisposition } from "../../standards/content-disposition.ts";
import { cleanText, oneLine } from "../../standards/text.ts";
import { encodeBody, foldedField } from "./encode.ts";

/** A part of a mail: its header fields and its content. */
export interface Part {
  fields: string[];
  content: Piece[];
}

/** Text on the wire, or a file whose bytes stand here in the encoding of `transferEncoding`. */
export type Piece = string | OutgoingAttachment;

/**
 * The body of a mail as a tree: multipart/mixed of multipart/related of multipart/alternative (RFC 2046 §5.1, RFC 2387), with only the
 * layers that it needs. An inline file is attached if there is no HTML to show it.
 */
export function bodyOf(mail: OutgoingMail): Part {
  const isShown = (file: OutgoingAttachment) =>
    file.inline && mail.bodyHtml !== undefined && writableId(file) !== undefined;
  const shown = mail.attachments.filter(isShown);
  const attached = mail.attachments.filter((file) => !isShown(file));
  const texts = textsOf(mail);
  const related =
    shown.length === 0
      ? texts
      : multipart(mail, 'related; type="multipart/alternative"', [
          texts,
          ...shown.map((file) => filePart(file, "inline")),
        ]);
  if (attached.length === 0) return related;
  return multipart(mail, "mixed", [related, ...attached.map((file) => filePart(file, "attachment"))]);
}

/** The text and the HTML of a mail, joined by mimetext. It gets encoded bodies, since its own encoding is unsafe, and no header fields. */
function textsOf({ messageId, bodyText, bodyHtml }: OutgoingMail): Part {
  const text = encodeBody(cleanText(bodyText));
  if (bodyHtml === undefined) {
    const fields = ["Content-Type: text/plain; charset=utf-8", `Content-Transfer-Encoding: ${text.encoding}`];
    return { fields, content: [`${text.data}\r\n`] };
  }
  const message = createMimeMessage();
  message.headers.fields = [];
  message.boundaries.alt = boundaryOf(messageId, "alternative");
  message.addMessage({ contentType: "text/plain", charset: "utf-8", ...text });
  message.addMessage({ contentType: "text/html", charset: "utf-8", ...encodeBody(cleanText(bodyHtml)) });
  const raw = message.asRaw();
  const headEnd = raw.indexOf("\r\n\r\n");
  // The result begins with the line end of the missing header.
  const fields = raw.slice("\r\n".length, headEnd).split("\r\n");
  return {
    fields: ["Content-Transfer-Encoding: 7bit", ...fields],
    content: [`${raw.slice(headEnd + "\r\n\r\n".length)}\r\n`],
  };
}

function multipart({ messageId }: Pick<OutgoingMail, "messageId">, kind: string, parts: readonly Part[]): Part {
  const boundary = boundaryOf(messageId, kind);
  const between = parts.flatMap(({ fields, content }): Piece[] => [
    `--${boundary}\r\n${fields.join("\r\n")}\r\n\r\n`,
    ...content,
    "\r\n",
  ]);
  return {
    fields: ["Content-Transfer-Encoding: 7bit", `Content-Type: multipart/${kind}; boundary=${boundary}`],
    content: [...between, `--${boundary}--\r\n`],
  };
}

/**
 * A boundary made from the Message-ID, without randomness. No line of an encoded body begins with a hyphen, so none is this boundary. An
 * attached mail is older than this Message-ID, so it does not contain the boundary either.
 */
function boundaryOf(messageId: string, kind: string): string {
  const named = kind === "alternative" ? messageId : `${kind}\n${messageId}`;
  return `inboxd-${createHash("sha256").update(named).digest("hex").slice(0, 32)}`;
}

function filePart(file: OutgoingAttachment, disposition: "inline" | "attachment"): Part {
  const id = writableId(file);
  return {
    fields: [
      `Content-Type: ${wireType(file)}`,
      `Content-Transfer-Encoding: ${transferEncoding(file)}`,
      ...(id === undefined ? [] : [`Content-ID: <${id}>`]),
      foldedField("Content-Disposition", mimeDisposition(disposition, oneLine(file.filename))),
    ],
    content: [file],
  };
}

/** The encoding of a file. An attached mail must not be encoded (RFC 2046 §5.2.1); its lines were checked to be short ASCII. */
export function transferEncoding({ contentType }: OutgoingAttachment): "7bit" | "base64" {
  return contentType === "message/rfc822" ? "7bit" : "base64";
}

/**
 * The content type of a file. It becomes application/octet-stream if it is invalid, or if such content has parts, which would have to be
 * checked.
 */
function wireType({ contentType }: OutgoingAttachment): string {
  const isType = /^[a-z0-9!#$&^_.+-]{1,127}\/[a-z0-9!#$&^_.+-]{1,127}$/.test(contentType);
  const hasParts = /^(?:multipart|message)\//.test(contentType) && contentType !== "message/rfc822";
  return isType && !hasParts ? contentType : "application/octet-stream";
}

function writableId({ contentId }: OutgoingAttachment): string | undefined {
  return contentId !== undefined && /^[A-Za-z0-9._@-]{1,128}$/.test(contentId) ? contentId : undefined;
}
