/** Who may be written to: everybody, only known addresses, or nobody. They are in the order of their strictness. */
export const sendPolicies = ["open", "known", "closed"] as const;
export type SendPolicy = (typeof sendPolicies)[number];

/** What happens to inbound mail that no rule decides. */
export interface InboundPolicy {
  /** Mail that no allow rule matches. `replies` takes it if it joins a thread in which the inbox has written. */
  unlisted: "accept" | "replies" | "block";
  /** Mail whose verdict is not `pass`. */
  unauthenticated: "accept" | "block";
  /** Mail whose verdict is `fail`, while its domain asks for quarantine or rejection. */
  dmarc: "ignore" | "honour";
  /** Mail that the operator's spam filter calls spam. */
  spam: "ignore" | "block";
  /** Mail that was blocked. */
  blocked: "quarantine" | "refuse";
}

export const defaultInboundPolicy: InboundPolicy = {
  unlisted: "accept",
  unauthenticated: "accept",
  dmarc: "ignore",
  spam: "ignore",
  blocked: "quarantine",
};

/** Why a mail was blocked. */
export const quarantineReasons = ["rule", "dmarc", "unauthenticated", "spam", "unlisted", "judge"] as const;
export type QuarantineReason = (typeof quarantineReasons)[number];

/** The strictest of several policies. */
export function strictest(...policies: readonly SendPolicy[]): SendPolicy {
  return sendPolicies.findLast((policy) => policies.includes(policy)) ?? "open";
}
