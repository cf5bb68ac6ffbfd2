/** The kinds of reports about mail that we sent, the worst one last. */
export const reportKinds = ["delayed", "delivered", "bounced", "complained"] as const;
export type ReportKind = (typeof reportKinds)[number];

/**
 * The types of a bounce. `hard`: the address does not exist. `soft`: a temporary failure or a full mailbox. `block`: our server, the sender
 * or the mail was refused. `unknown`: the reason is not known.
 */
export const bounceTypes = ["hard", "soft", "block", "unknown"] as const;
export type BounceType = (typeof bounceTypes)[number];

/** The part of a report about one recipient. Its addresses are as the reporter wrote them: our mail may not have gone to them. */
export interface RecipientReport {
  /** Undefined if the result is not known: the mail was passed on (RFC 3464 §2.3.3), or the feedback has no effect. */
  kind: ReportKind | undefined;
  /** Defined only for a bounce. */
  type: BounceType | undefined;
  /** The address that the sender wrote to, and the one that the last server had. */
  originalRecipient: string | undefined;
  finalRecipient: string | undefined;
  code: number | undefined;
  enhancedCode: string | undefined;
  /** The server's text as one clean line. */
  diagnostic: string | undefined;
  remoteMta: string | undefined;
  /** Set if the report has no code of a server and its sender is not known to be a mail server. Such a report suppresses nobody. */
  isHearsay?: true;
}

/** The content of a report about a mail. It is not checked yet whether the report is genuine. */
export interface MailReport {
  source: "dsn" | "arf";
  /** Never empty. */
  recipients: RecipientReport[];
  /** The canonical Message-IDs of the reported mail, from its returned headers or from fields of the reporting server. */
  messageIds: string[];
  /** The ENVID that we gave the envelope (RFC 3461 §4.4). */
  envelopeId: string | undefined;
  reportingMta: string | undefined;
  /** The envelope sender of the mail, if a complaint has it. */
  originalSender: string | undefined;
  /** Whether a complaint unsubscribes (`opt-out`, RFC 5965 §3.1). */
  isOptOut: boolean;
}
