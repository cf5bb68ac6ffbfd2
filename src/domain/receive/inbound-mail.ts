/** A mail as it came: what was said of it when it was handed over, and its bytes. One value, whole from the socket to the rows. */
export interface InboundMail<Recipient = FoundRecipient> {
  envelope: Envelope<Recipient>;
  /** Octet for octet as it was sent. */
  raw: Uint8Array;
}

/** What an SMTP transaction says beside the mail itself (RFC 5321 §2.3.1). */
export interface Envelope<Recipient = FoundRecipient> {
  /** The reverse-path, "" for a bounce. */
  from: string;
  /** Whom it is for, in the order of RCPT. */
  recipients: readonly Recipient[];
  /** Who brought it; undefined of our own mail to ourselves, which nobody did. */
  client: MailClient | undefined;
}

/** A recipient, and the inbox that RCPT found for him: nobody looks it up again. Whether it still lives, the rows tell. */
export interface FoundRecipient {
  /** The address as the sender wrote it. */
  toAddr: string;
  inboxId: string;
  /** Hash of the Message-ID of the message that a return path names; only for a mail that came to one. */
  answeredHash?: string;
}

/** A return path (domain/reports/return-path.ts), and the message of ours whose it is. Whether that still lives, nobody has asked. */
export interface FoundReturnPath {
  toAddr: string;
  messageId: string;
}

export interface MailClient {
  /** IP address. */
  address: string;
  /** What of the network one sender may have to himself. */
  network: string;
  /** The argument of EHLO or HELO, lower-cased; "" where it gave none. */
  heloName: string;
  /** Whether the mail came over TLS. */
  secure: boolean;
}

/** Whose turn it is when the mail has to wait. All our own mail to ourselves is one sender's. */
export function senderInLine({ client }: Envelope): string {
  return client?.network ?? "local";
}
