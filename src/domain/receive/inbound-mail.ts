/** A mail as it came: its envelope and its bytes. */
export interface InboundMail<Recipient = FoundRecipient> {
  envelope: Envelope<Recipient>;
  /** The bytes as they were sent. */
  raw: Uint8Array;
  /** Called for each inbox that blocks the mail and has it in its quarantine. */
  onQuarantined?: ((inboxId: string) => void) | undefined;
}

/** The envelope of an SMTP transaction (RFC 5321 §2.3.1). */
export interface Envelope<Recipient = FoundRecipient> {
  /** The reverse path, which is "" for a bounce. */
  from: string;
  /** The recipients in the order of the RCPT commands. */
  recipients: readonly Recipient[];
  /** Undefined for mail that this service sends to itself. */
  client: MailClient | undefined;
}

/**
 * A recipient, with the inbox that was found for it at the RCPT command. It is not looked up again: storing the mail only checks that it
 * still exists.
 */
export interface FoundRecipient {
  /** The address as the sender wrote it. */
  toAddr: string;
  inboxId: string;
  /** Only for mail to a return path: the hash of the Message-ID of the message that was sent with this path. */
  answeredHash?: string;
}

/** A return path (domain/reports/return-path.ts), and the message that was sent with it. The message may have been deleted since. */
export interface FoundReturnPath {
  toAddr: string;
  messageId: string;
  /** Whether mail to this address unsubscribes the recipient of the message (domain/reports/unsubscribing.ts). */
  unsubscribes?: boolean | undefined;
}

export interface MailClient {
  /** IP address; undefined if it is unknown, as for mail that an account hands in by HTTP. */
  address?: string | undefined;
  /** The network that counts as one sender: the IPv4 address, or the /64 of an IPv6 address. */
  network: string;
  /** The name that the client gave with EHLO or HELO, in lower case; "" if it gave none. */
  heloName: string;
  /** Whether the mail came over TLS. */
  secure: boolean;
  /** Whether the address is that of a proxy in TRUSTED_PROXIES. Then the address of the sender is unknown, and SPF is `none`. */
  isProxy: boolean;
  /** Whether the mail came with INGEST_TOKEN, so that its Authentication-Results of TRUSTED_AUTHSERV_IDS count. */
  isTrusted?: boolean;
  /** The cells that have handed the mail over. Missing if it came from outside. */
  cells?: readonly string[];
}

/**
 * The outcome of an inbound mail. `stored`: every inbox of the mail that still exists has the mail or has it in its quarantine, from now or
 * from before. `quarantined`: the same, and none of them has it but in its quarantine. `gone`: none of its inboxes exists any more.
 * `disabled`: the same, but one exists and is disabled. `refused`: each of its inboxes refuses it. `undecided`: the sender was not checked
 * in time, and that decides whether an inbox takes the mail. `unavailable`: the mail was not stored. After the last two the sender or a
 * later attempt has to deliver it again.
 */
export type MailOutcome = "stored" | "quarantined" | "gone" | "disabled" | "refused" | "undecided" | "unavailable";

/** The name of the parser's queue for a mail: the network of its client, or `local` for mail that this service sends to itself. */
export function senderInLine({ client }: Envelope): string {
  return client?.network ?? "local";
}
