import type { InboundPolicy, QuarantineReason } from "../policy.ts";
import type { Authentication } from "./authentication.ts";
import type { JudgeAction } from "./opinion.ts";

/** The facts that decide whether an inbox takes a mail (contract §22). */
export interface JudgedMail {
  policy: InboundPolicy;
  /** The id of a rule that blocks the mail; undefined if none does. */
  blockedBy: string | undefined;
  /** The strongest rule that allows the sender; undefined if none does. */
  allowedBy: { evenUnauthenticated: boolean } | undefined;
  /** Undefined if the sender was not checked. */
  authentication: Proof | undefined;
  /** Whether the mail joins a thread in which the inbox has written. */
  isReply: boolean;
  isSpam: boolean;
  /** The action in the opinion of the operator's judge; `take` without a judge. */
  opinion: JudgeAction;
}

type Proof = Pick<Authentication, "verdict" | "dmarc">;

/** `undecided`: it depends on a verdict that was not reached in time. */
export type Judgment = Blocking | { kind: "taken" | "undecided" };

export interface Blocking {
  kind: "blocked";
  reason: QuarantineReason;
  /** Only for the reason `rule`. */
  ruleId: string | null;
  /** Quarantine or refusal, as the judge or the policy says. */
  answer: InboundPolicy["blocked"];
}

/** The verdicts that a mail without one may still get. */
const possible: readonly Proof[] = [
  { verdict: "pass", dmarc: { result: "pass", policy: "reject" } },
  { verdict: "fail", dmarc: { result: "fail", policy: "reject" } },
  { verdict: "none", dmarc: { result: "none", policy: null } },
];

/** Decides whether an inbox takes a mail. The verdict `temperror` leaves it undecided if the possible verdicts lead to different decisions. */
export function judgeMail(facts: JudgedMail): Judgment {
  const standing = judgeAsProven(facts);
  if (facts.authentication?.verdict !== "temperror") return standing;
  const isCertain = possible.every(
    (authentication) => judgeAsProven({ ...facts, authentication }).kind === standing.kind,
  );
  return isCertain ? standing : { kind: "undecided" };
}

/**
 * Decides by what is known. The verdict `temperror` proves nothing, as `none` does. A block beats an allow, at whatever level: the operator's
 * judge beats the rules of accounts that allow. An allow beats the policy.
 */
export function judgeAsProven(facts: JudgedMail): Judgment {
  const { policy, blockedBy, allowedBy, authentication, isReply, isSpam, opinion } = facts;
  const isProven = authentication?.verdict === "pass";
  const blocked = (reason: QuarantineReason): Blocking => ({
    kind: "blocked",
    reason,
    ruleId: null,
    answer: policy.blocked,
  });
  if (blockedBy !== undefined) return { ...blocked("rule"), ruleId: blockedBy };
  if (opinion !== "take") return { ...blocked("judge"), answer: opinion };
  if (allowedBy !== undefined && (isProven || allowedBy.evenUnauthenticated)) return { kind: "taken" };
  if (policy.dmarc === "honour" && breaksDmarc(authentication)) return blocked("dmarc");
  if (policy.unauthenticated === "block" && !isProven) return blocked("unauthenticated");
  if (policy.spam === "block" && isSpam) return blocked("spam");
  if (policy.unlisted === "block" || (policy.unlisted === "replies" && !isReply)) return blocked("unlisted");
  return { kind: "taken" };
}

/** Whether the domain of the sender asks to quarantine or to reject the mail. */
function breaksDmarc(authentication: Proof | undefined): boolean {
  const policy = authentication?.dmarc.policy;
  return authentication?.verdict === "fail" && (policy === "quarantine" || policy === "reject");
}
