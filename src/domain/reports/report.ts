/** What can have become of mail that we sent, from what says least to what counts most. */
export const reportKinds = ["delayed", "delivered", "bounced", "complained"] as const;
export type ReportKind = (typeof reportKinds)[number];

/** How a mail bounced: there is no such address; not now; because of what we are or sent; nothing that could be told. */
export const bounceTypes = ["hard", "soft", "block", "unknown"] as const;
export type BounceType = (typeof bounceTypes)[number];

/** What a report says of one recipient. The addresses are as the reporter wrote them, and nothing that anybody knew of before. */
export interface RecipientTold {
  /** Undefined where nothing is known of him: handed on to others (RFC 3464 §2.3.3), or feedback without effect. */
  kind: ReportKind | undefined;
  /** Of what bounced alone. */
  type: BounceType | undefined;
  /** Whom the sender wrote to, and whom the server at last had before it. */
  originalRecipient: string | undefined;
  finalRecipient: string | undefined;
  code: number | undefined;
  enhancedCode: string | undefined;
  /** One clean line. */
  diagnostic: string | undefined;
  remoteMta: string | undefined;
  /** The type rests on words alone, and no mail server said them: then it suppresses nobody. */
  isHearsay?: true;
}

/** What a mail reports about another, as it says. Whether it may be believed is another question. */
export interface MailReport {
  source: "dsn" | "arf";
  /** Never empty. */
  recipients: RecipientTold[];
  /** The mail's Message-IDs, canonical, as the returned head or the reporter names them. */
  messageIds: string[];
  /** What we asked to have called the envelope (RFC 3461 §4.4). */
  envelopeId: string | undefined;
  reportingMta: string | undefined;
  /** The envelope sender that the mail had, where a complaint tells. */
  originalSender: string | undefined;
  /** Whether a complaint is a wish to be left alone (RFC 5965 §3.1 `opt-out`). */
  isOptOut: boolean;
}
