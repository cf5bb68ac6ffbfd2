/**
 * What the SMTP listener asks of the service. The listener speaks replies and knows nothing of
 * inboxes or SQL; behind the door nothing is known of reply codes, save where a mail itself is refused.
 */
export interface SmtpDoor {
  /** Whether mail for `address` is taken. The address is as the client gave it, without `<>` (maybe a bare "postmaster"). */
  recipient(address: string): Promise<RecipientDecision>;
  /** Stores one mail for all its recipients. The client reads 250 only after this resolved as `stored`. */
  accept(mail: InboundMail): Promise<AcceptDecision>;
}

/** Where a client comes from, as the service's one reader of addresses says. */
export interface Origin {
  host: string;
  /** What of the network one sender may have to himself: the IPv4 address, or the /64 around an IPv6 one. */
  network: string;
  /** What a site of many networks has, of IPv6 the /48. */
  site: string | undefined;
}

export type RecipientDecision =
  /** The listener gives the inbox back with the mail, and makes nothing of it. */
  | { kind: "accept"; inboxId: string }
  /** What a mail of ours named as its sender. The listener gives the message back with the mail, and makes nothing of it either. */
  | { kind: "return_path"; messageId: string }
  /** Our domain, but no such inbox: 550 5.1.1. */
  | { kind: "unknown" }
  /** Not our domain: 550 5.7.1. */
  | { kind: "other_domain" }
  /** We can't tell now: 451 4.3.0, and the sender keeps the mail. */
  | { kind: "unavailable" };

export type AcceptDecision =
  | { kind: "stored" }
  | { kind: "unavailable" }
  /** Every recipient was deleted since its RCPT: 550 5.1.1. */
  | { kind: "gone" }
  | { kind: "rejected"; code: number; enhancedCode: string; message: string };

/** A mail that came whole, with all that its transaction said. */
export interface InboundMail {
  envelope: {
    /** The reverse-path, "" for the null sender of a bounce (RFC 5321 §4.5.5). */
    from: string;
    /** Those that were accepted, in order, each address once without regard to case. */
    recipients: readonly AcceptedRecipient[];
    client: {
      address: string;
      /** `network` of the address's origin. */
      network: string;
      /** The argument of EHLO or HELO, lower-cased. */
      heloName: string;
      /** Whether the mail came over TLS. */
      secure: boolean;
    };
  };
  /** The mail, octet for octet as sent: stuffed dots taken out (RFC 5321 §4.5.2), no header added. */
  raw: Uint8Array;
}

/** The address as given, without `<>`, and what the door found. */
export type AcceptedRecipient = { toAddr: string; inboxId: string } | { toAddr: string; messageId: string };

/** Told what happens at the listener, for counters and logs. All of it is optional. */
export interface SmtpObserver {
  connected?(): void;
  refused?(reason: RefusedReason): void;
  accepted?(sizeBytes: number): void;
  /** A bug or an outage behind the door, or an error of a socket: the client saw 451 or a closed connection. */
  fault?(error: unknown, during: "recipient" | "accept" | "connection"): void;
}

export type RefusedReason =
  | "connections_in_all"
  | "connections_per_address"
  | "unknown_recipient"
  | "other_domain"
  | "bad_recipient"
  | "refused_recipients"
  | "too_many_recipients"
  | "unavailable"
  | "too_big"
  | "endless"
  | "out_of_memory"
  | "lone_dot"
  | "mail_loop"
  | "rejected"
  | "tls"
  | "timeout";
