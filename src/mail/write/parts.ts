import { createHash } from "node:crypto";
import type { OutgoingAttachment, OutgoingMail } from "../../domain/message.ts";
import { mimeDisposition } from "../../standards/content-disposition.ts";
import { oneLine } from "../../standards/text.ts";
import { foldedField } from "./encode.ts";
import { assembledTexts } from "./text-parts.ts";

/** A part of a mail: what it says of itself, and what it holds. */
export interface Part {
  fields: string[];
  content: Piece[];
}

/** Text as it stands on the wire, or the place where the bytes of a file stand, written as `transferEncoding` says. */
export type Piece = string | OutgoingAttachment;

/**
 * The body of a mail as a tree: multipart/mixed of multipart/related of multipart/alternative (RFC 2046 §5.1, RFC 2387), with
 * the layers that it needs and no others. An inline file without an HTML that could show it is one that is attached.
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

function textsOf(mail: OutgoingMail): Part {
  const { fields, content } = assembledTexts(mail, boundaryOf(mail.messageId, "alternative"));
  return { fields, content: [content] };
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
 * Needs no chance: no line of an encoded body begins with a hyphen, so none can be this one. A mail that is a part of this one
 * was there before this one's Message-ID was drawn.
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

/** A mail within a mail may not be encoded (RFC 2046 §5.2.1): what claims to be one is one of short lines in ASCII. */
export function transferEncoding({ contentType }: OutgoingAttachment): "7bit" | "base64" {
  return contentType === "message/rfc822" ? "7bit" : "base64";
}

/** What is no type, or one whose inside would have to be read, is bytes. */
function wireType({ contentType }: OutgoingAttachment): string {
  const isType = /^[a-z0-9!#$&^_.+-]{1,127}\/[a-z0-9!#$&^_.+-]{1,127}$/.test(contentType);
  const hasParts = /^(?:multipart|message)\//.test(contentType) && contentType !== "message/rfc822";
  return isType && !hasParts ? contentType : "application/octet-stream";
}

function writableId({ contentId }: OutgoingAttachment): string | undefined {
  return contentId !== undefined && /^[A-Za-z0-9._@-]{1,128}$/.test(contentId) ? contentId : undefined;
}
