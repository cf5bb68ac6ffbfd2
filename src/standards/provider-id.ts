/**
 * The relay's own id of a mail, from its final reply (`250 2.0.0 Ok: queued as 4F5B12C0A1`), or `undefined` without one. The text of a reply
 * has no fixed format (RFC 5321 §4.2), so this is a table of replies that real servers send.
 */
export function providerMessageIdOf(reply: string): string | undefined {
  const line = reply.slice(0, 1000).replace(/\s+/g, " ").trim();
  if (!/^2[0-9]{2} /.test(line)) return undefined;
  for (const shape of shapes) {
    const id = shape.exec(line)?.[1]?.replace(/^<|(?<![>.,;:)])[>.,;:)]+$/g, "");
    // An id has a digit. "Ok: queued as requested" has none.
    if (id !== undefined && id.length <= 255 && /[0-9]/.test(id)) return id;
  }
  return undefined;
}

/** The forms of replies; the first that matches wins. An id is visible ASCII without spaces. */
const shapes: readonly RegExp[] = [
  // Microsoft 365 names our own Message-ID first, and then its own id.
  /\[InternalId=([0-9]+)[,\]]/i,
  // Google: "250 2.0.0 OK  1622547800 d9443c01a7336-1f7d83a1b2csm123.45 - gsmtp"
  / ([!-~]+) - gsmtp$/i,
  // Postfix, SendGrid, Mandrill, Mailjet, ZoneMTA, Brevo, Postmark, Mailpit. The last match counts, because a content
  // filter quotes the reply of the next server.
  /.*\bqueued as ([!-~]+)/i,
  // Yandex: "250 2.0.0 Ok: queued on mail-nwsmtp1.example as 1430081058-6ltgNFKSir"
  /\bqueued on [!-~]+ as ([!-~]+)/i,
  // Stalwart: "250 2.0.0 Message queued with id 2f1a6c3d9b"
  /\bqueued with id ([!-~]+)/i,
  // Exim: "250 OK id=1qDabc-0004Xy-7Z"; Mailgun: "250 Queued. id=<20260321.1@mg.example>"
  /(?:^| )id=([!-~]+)/i,
  // Haraka: "250 Message Queued (7E3F2A10-5B6C-4D7E-8F90-A1B2C3D4E5F6.1)"
  /\bqueued \(([!-~]+)\)/i,
  // Sendmail, Proofpoint, OpenSMTPD: "250 2.0.0 62LA5x0a012345 Message accepted for delivery"
  /^2[0-9]{2} (?:2\.[0-9.]+ )?([!-~]+):? Message accepted for delivery/i,
  // Amazon SES "250 Ok 0100018b…-000000", SparkPost "250 2.0.0 OK 5C/E4-15934-9F2A3B5C", Campaign Monitor "OK:…",
  // Outlook.com "250 2.0.0 OK <…@….prod.outlook.com> [Hostname=…]": long enough not to be a word.
  /^2[0-9]{2} (?:2\.[0-9.]+ )?OK:? ?([!-~]{12,})(?: \[Hostname=[^\]]*\])?$/i,
  // "250 2.0.0 Ok: queued 2K6C7TNVWUIRJYGYXJ6K4TYT"
  /\bqueued:? ([!-~]{8,})$/i,
];
