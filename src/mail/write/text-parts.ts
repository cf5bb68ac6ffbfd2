import { createMimeMessage } from "mimetext/browser";
import type { OutgoingMail } from "../../domain/message.ts";
import { cleanText } from "../../standards/text.ts";
import { encodeBody } from "./encode.ts";

/**
 * The words of a mail: what they say of themselves and how they stand on the wire. mimetext assembles them; it gets bodies that
 * are encoded already, since its own encoding is not safe, and no header, which is ours.
 */
export function assembledTexts(
  { bodyText, bodyHtml }: Pick<OutgoingMail, "bodyText" | "bodyHtml">,
  boundary: string,
): { fields: string[]; content: string } {
  const message = createMimeMessage();
  message.headers.fields = [];
  message.boundaries.alt = boundary;
  const add = (contentType: string, text: string) =>
    message.addMessage({ contentType, charset: "utf-8", ...encodeBody(cleanText(text)) });
  add("text/plain", bodyText);
  if (bodyHtml !== undefined) add("text/html", bodyHtml);
  const raw = message.asRaw();
  const headEnd = raw.indexOf("\r\n\r\n");
  // It begins with the line end behind a header that is not there.
  const fields = raw.slice("\r\n".length, headEnd).split("\r\n");
  return {
    fields: bodyHtml === undefined ? fields : ["Content-Transfer-Encoding: 7bit", ...fields],
    content: `${raw.slice(headEnd + "\r\n\r\n".length)}\r\n`,
  };
}
