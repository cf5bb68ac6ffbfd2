import type { ParsedAttachment, ParsedMail } from "../../src/domain/message.ts";
import { parseMail } from "../../src/mail/read/parse.ts";

/** A mail's octets, one for each character, with CRLF for each `\n`. The default sender is a@x. */
export function octets(text: string): Buffer {
  const whole = /^(?:\xef\xbb\xbf)?(?:From|Sender)[ :]/m.test(text) ? text : `From: a@x\n${text}`;
  return Buffer.from(whole.replaceAll("\n", "\r\n"), "latin1");
}

export function readMail(text: string): Promise<ParsedMail> {
  return parseMail(octets(text), { mailDomain: "inbox.localhost" });
}

/** The names and contents of a mail's files, a character for each octet. */
export function filesOf({ attachments }: ParsedMail): [name: string, content: string][] {
  return attachments.map(({ filename, bytes }: ParsedAttachment) => [filename, Buffer.from(bytes).toString("latin1")]);
}

/** The text of octets in UTF-8. */
export function inUtf8(text: string): string {
  return Buffer.from(text).toString("latin1");
}
