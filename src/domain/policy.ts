/** The recipients to whom mail may be sent: everybody, only known addresses, or nobody. The strictest policy is the last one. */
export const sendPolicies = ["open", "known", "closed"] as const;
export type SendPolicy = (typeof sendPolicies)[number];

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
