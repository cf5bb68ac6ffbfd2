import type { ParsedAttachment, ParsedMail } from "../../src/domain/message.ts";
import { parseMail } from "../../src/mail/read/parse.ts";

/** A mail's octets: each character is one, each `\n` stands for CRLF. One without a sender is from a@x. */
export function octets(text: string): Buffer {
  const whole = /^(?:\xef\xbb\xbf)?(?:From|Sender)[ :]/m.test(text) ? text : `From: a@x\n${text}`;
  return Buffer.from(whole.replaceAll("\n", "\r\n"), "latin1");
}

export function readMail(text: string): Promise<ParsedMail> {
  return parseMail(octets(text), { mailDomain: "inbox.localhost" });
}

/** The names of a mail's files and what is in each, an octet a character. */
export function filesOf({ attachments }: ParsedMail): [name: string, content: string][] {
  return attachments.map(({ filename, bytes }: ParsedAttachment) => [filename, Buffer.from(bytes).toString("latin1")]);
}

/** The octets of the text in a charset that has one for each letter here, or in UTF-8. */
export function inUtf8(text: string): string {
  return Buffer.from(text).toString("latin1");
}
