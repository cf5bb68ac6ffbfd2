/**
 * The recipients to whom mail may be sent: everybody, only known addresses, everybody with the approval of a person if one is not known, or
 * for all mail, or nobody. The strictest policy is the last one.
 */
export const sendPolicies = ["open", "known", "approve_new", "approve_all", "closed"] as const;
export type SendPolicy = (typeof sendPolicies)[number];

/** The meaning of all policies that hold for a send. */
export interface SendRule {
  isClosed: boolean;
  /** Whether recipients that are not known are refused. */
  refusesUnknown: boolean;
  /** The mail that waits for the approval of a person. */
  asks: "never" | "if unknown" | "always";
}

/** The strictest policy holds. If one is `known` and another asks a person, unknown recipients are refused, and all other mail is asked for. */
export function sendRuleOf(policies: readonly SendPolicy[]): SendRule {
  const strict = strictest(...policies);
  const refusesUnknown = policies.includes("known");
  const isApproving = strict === "approve_new" || strict === "approve_all";
  const asks = strict === "approve_new" && !refusesUnknown ? "if unknown" : isApproving ? "always" : "never";
  return { isClosed: strict === "closed", refusesUnknown, asks };
}

/** The fields of a policy for inbound mail that no rule decides, with their values. */
export const inboundChoices = {
  /** Mail that no allow rule matches. `replies` takes it if it joins a thread in which the inbox has written. */
  unlisted: ["accept", "replies", "block"],
  /** Mail whose verdict is not `pass`. */
  unauthenticated: ["accept", "block"],
  /** Mail whose verdict is `fail`, while its domain asks for quarantine or rejection. */
  dmarc: ["ignore", "honour"],
  /** Mail that the operator's spam filter calls spam. */
  spam: ["ignore", "block"],
  /** Mail that was blocked. */
  blocked: ["quarantine", "refuse"],
} as const;

export type InboundPolicy = {
  [Field in keyof typeof inboundChoices]: (typeof inboundChoices)[Field][number];
};

export const defaultInboundPolicy: InboundPolicy = {
  unlisted: "accept",
  unauthenticated: "accept",
  dmarc: "ignore",
  spam: "ignore",
  blocked: "quarantine",
};

/** The reasons for which a mail is blocked. */
export const quarantineReasons = ["rule", "dmarc", "unauthenticated", "spam", "unlisted", "judge"] as const;
export type QuarantineReason = (typeof quarantineReasons)[number];

/** The strictest of several policies. */
export function strictest(...policies: readonly SendPolicy[]): SendPolicy {
  return sendPolicies.findLast((policy) => policies.includes(policy)) ?? "open";
}
