/**
 * The interface between the SMTP listener and the service. The listener knows replies, and neither inboxes nor SQL; the service
 * knows no reply codes, except that of a mail that it rejects.
 */
export interface SmtpDoor {
  /** Whether mail for `address` is accepted. The address is as the client gave it, without `<>`; it may be a bare "postmaster". */
  recipient(address: string): Promise<RecipientDecision>;
  /** Stores one mail for all its recipients. The client gets 250 only after this has resolved with `stored` or `quarantined`. */
  accept(mail: InboundMail): Promise<AcceptDecision>;
}

/** The origin of a client, parsed from its address by the service. */
export interface Origin {
  host: string;
  /** The part of the network that counts as one sender: the IPv4 address, or the /64 of an IPv6 address. */
  network: string;
  /** The /48 of an IPv6 address: the range of a site with many networks. */
  site: string | undefined;
}

export type RecipientDecision =
  /**
   * The address of an inbox. The listener passes `inboxId` on with the mail. One with `isApart` is the only recipient of its mail: the others
   * get 452 4.5.3, because the answer for it may not be theirs.
   */
  | { kind: "accept"; inboxId: string; isApart?: boolean }
  /**
   * A return path: the envelope sender of a message that this service sent, or the address by which its recipient unsubscribes. The
   * listener passes `messageId` and `unsubscribes` on with the mail.
   */
  | { kind: "return_path"; messageId: string; unsubscribes?: boolean }
  /** Our domain, but no such inbox: 550 5.1.1. */
  | { kind: "unknown" }
  /** The inbox is disabled: 550 5.2.1. */
  | { kind: "disabled" }
  /** The account of the inbox is suspended: 450 4.2.1, and the sending server tries again later. */
  | { kind: "suspended" }
  /** The inbox or its account has used its quota of bytes: 452 4.2.2, and the sending server tries again later. */
  | { kind: "full" }
  /** The inbox got as many mails in a minute as it may: 450 4.2.1, and the sending server tries again later. */
  | { kind: "busy" }
  /** Not our domain: 550 5.7.1. */
  | { kind: "other_domain" }
  /** The service cannot decide now: 451 4.3.0, and the sending server tries again later. */
  | { kind: "unavailable" };

export type AcceptDecision =
  | { kind: "stored" }
  /** Stored, but only in the quarantine of its recipients. */
  | { kind: "quarantined" }
  | { kind: "unavailable" }
  /** Every recipient refuses the sender: 550 5.7.1. */
  | { kind: "refused" }
  /** The sender could not be checked in time, and that decides whether a recipient takes the mail: 451 4.7.0. */
  | { kind: "undecided" }
  /** Every recipient was deleted since its RCPT: 550 5.1.1. */
  | { kind: "gone" }
  /** Every recipient was deleted or disabled since its RCPT, and one is disabled: 550 5.2.1. */
  | { kind: "disabled" }
  | { kind: "rejected"; code: number; enhancedCode: string; message: string };

/** A complete mail with its envelope. */
export interface InboundMail {
  envelope: {
    /** The reverse-path, "" for the null sender of a bounce (RFC 5321 §4.5.5). */
    from: string;
    /** The accepted recipients in order. Addresses that differ only in case count as one. */
    recipients: readonly AcceptedRecipient[];
    client: {
      address: string;
      /** The `network` of the client's origin. */
      network: string;
      /** The argument of EHLO or HELO, lower-cased. */
      heloName: string;
      /** Whether the mail came over TLS. */
      secure: boolean;
      /** Whether the address is that of a proxy, so that the sender's is unknown. */
      isProxy: boolean;
    };
  };
  /** The octets as sent, without dot-stuffing (RFC 5321 §4.5.2) and without added headers. */
  raw: Uint8Array;
}

/** The address as given, without `<>`, and the inbox or the message that the door found for it. */
export type AcceptedRecipient =
  | { toAddr: string; inboxId: string }
  | { toAddr: string; messageId: string; unsubscribes?: boolean };

/** Observes the listener, for metrics and logs. */
export interface SmtpObserver {
  connected?(): void;
  refused?(reason: RefusedReason): void;
  accepted?(sizeBytes: number): void;
  /** Called for a bug, an outage of the service or an error of a socket. The client got 451 or a closed connection. */
  fault?(error: unknown, during: "recipient" | "accept" | "connection"): void;
}

export type RefusedReason =
  | "connections_in_all"
  | "connections_per_address"
  | "proxy_header"
  | "mails_per_address"
  | "unknown_recipient"
  | "disabled"
  | "suspended"
  | "full"
  | "busy"
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
