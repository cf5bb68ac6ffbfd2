/** A small mail, as a sender writes it, with only the given fields; a header may have any length. */
export interface MailFields {
  from?: string;
  to?: string;
  subject?: string;
  /** Without `<>`. */
  messageId?: string;
  inReplyTo?: string;
  references?: readonly string[];
  headers?: readonly string[];
  text?: string;
}

export function mailOf({
  from = "Jane Doe <jane@example.com>",
  to = "ada@inbox.localhost",
  subject = "Hello",
  messageId,
  inReplyTo,
  references = [],
  headers = [],
  text = "Hello Ada\r\n",
}: MailFields = {}): string {
  const lines = [
    `From: ${from}`,
    `To: ${to}`,
    `Subject: ${subject}`,
    "Date: Sat, 21 Mar 2026 10:05:00 +0000",
    ...(messageId === undefined ? [] : [`Message-ID: <${messageId}>`]),
    ...(inReplyTo === undefined ? [] : [`In-Reply-To: <${inReplyTo}>`]),
    ...(references.length === 0 ? [] : [`References: ${references.map((id) => `<${id}>`).join("\r\n ")}`]),
    ...headers,
  ];
  return `${lines.join("\r\n")}\r\n\r\n${text}`;
}
