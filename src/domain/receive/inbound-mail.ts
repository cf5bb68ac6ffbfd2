/** A mail as it came: its envelope and its bytes. It is one value from the socket to the rows. */
export interface InboundMail<Recipient = FoundRecipient> {
  envelope: Envelope<Recipient>;
  /** The bytes as they were sent. */
  raw: Uint8Array;
}

/** The envelope of an SMTP transaction (RFC 5321 §2.3.1). */
export interface Envelope<Recipient = FoundRecipient> {
  /** The reverse-path, "" for a bounce. */
  from: string;
  /** In the order of RCPT. */
  recipients: readonly Recipient[];
  /** Undefined for mail that this service sends to itself. */
  client: MailClient | undefined;
}

/** A recipient, and the inbox that RCPT found for it. The inbox is not looked up again: the write checks that it still exists. */
export interface FoundRecipient {
  /** The address as the sender wrote it. */
  toAddr: string;
  inboxId: string;
  /** Only for mail to a return path: the hash of the Message-ID of the message that the path names. */
  answeredHash?: string;
}

/** A return path (domain/reports/return-path.ts), and the message that was sent with it. The message may be deleted since. */
export interface FoundReturnPath {
  toAddr: string;
  messageId: string;
}

export interface MailClient {
  /** IP address. */
  address: string;
  /** The network that counts as one sender: the IPv4 address, or the /64 of an IPv6 address. */
  network: string;
  /** The argument of EHLO or HELO, in lower case; "" if it gave none. */
  heloName: string;
  /** Whether the mail came over TLS. */
  secure: boolean;
}

/**
 * The outcome of an inbound mail. `stored`: each inbox that still exists has it, now or already before. `gone`: none of its inboxes
 * exists any more. `unavailable`: the sender, or a later attempt, has to deliver it again.
 */
export type MailOutcome = "stored" | "gone" | "unavailable";

/** The sender by which mail is queued for the parser. All mail of this service to itself has one sender. */
export function senderInLine({ client }: Envelope): string {
  return client?.network ?? "local";
}
