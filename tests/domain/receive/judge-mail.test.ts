import { describe, expect, test } from "bun:test";
import { defaultInboundPolicy, type InboundPolicy, type QuarantineReason } from "../../../src/domain/policy.ts";
import type { DmarcPolicy, Verdict } from "../../../src/domain/receive/authentication.ts";
import { type JudgedMail, judgeAsProven, judgeMail } from "../../../src/domain/receive/judge-mail.ts";

interface Told extends Partial<Omit<JudgedMail, "policy" | "authentication">> {
  policy?: Partial<InboundPolicy>;
  verdict?: Verdict;
  asks?: DmarcPolicy | null;
}

function facts({ policy, verdict, asks = null, ...rest }: Told): JudgedMail {
  return {
    policy: { ...defaultInboundPolicy, ...policy },
    blockedBy: undefined,
    allowedBy: undefined,
    isReply: false,
    isSpam: false,
    opinion: "take",
    authentication: verdict && { verdict, dmarc: { result: asks === null ? "none" : "fail", policy: asks } },
    ...rest,
  };
}

const allow = { evenUnauthenticated: false };
const allowAnyway = { evenUnauthenticated: true };

/** Each row: the description of the mail, the facts, and `taken`, `undecided` or the reason for which it is blocked. */
const rows: [string, Told, QuarantineReason | "taken" | "undecided"][] = [
  ["of a stranger, without a policy", {}, "taken"],
  ["whose sender failed, without a policy", { verdict: "fail", asks: "reject" }, "taken"],
  ["that a rule blocks", { blockedBy: "rul_1", verdict: "pass" }, "rule"],
  ["that one rule blocks and another allows", { blockedBy: "rul_1", allowedBy: allowAnyway, verdict: "pass" }, "rule"],
  ["of an allowed sender who is proven", { allowedBy: allow, policy: { unlisted: "block" }, verdict: "pass" }, "taken"],
  [
    "of an allowed name that is not proven",
    { allowedBy: allow, policy: { unlisted: "block" }, verdict: "none" },
    "unlisted",
  ],
  ["of an allowed name that nobody checked", { allowedBy: allow, policy: { unlisted: "block" } }, "unlisted"],
  [
    "of a sender who is allowed without proof",
    { allowedBy: allowAnyway, policy: { unlisted: "block" }, verdict: "fail" },
    "taken",
  ],
  ["of a sender who is not on the list", { policy: { unlisted: "block" }, verdict: "pass" }, "unlisted"],
  ["that answers us", { policy: { unlisted: "replies" }, isReply: true }, "taken"],
  ["that answers nobody", { policy: { unlisted: "replies" } }, "unlisted"],
  ["that answers us, where only the list counts", { policy: { unlisted: "block" }, isReply: true }, "unlisted"],
  [
    "that fails while its domain asks for rejection",
    { policy: { dmarc: "honour" }, verdict: "fail", asks: "reject" },
    "dmarc",
  ],
  [
    "that fails while its domain asks for quarantine",
    { policy: { dmarc: "honour" }, verdict: "fail", asks: "quarantine" },
    "dmarc",
  ],
  [
    "that fails while its domain asks for nothing",
    { policy: { dmarc: "honour" }, verdict: "fail", asks: "none" },
    "taken",
  ],
  [
    "that is not proven, where proof is asked for",
    { policy: { unauthenticated: "block" }, verdict: "none" },
    "unauthenticated",
  ],
  ["that nobody checked, where proof is asked for", { policy: { unauthenticated: "block" } }, "unauthenticated"],
  ["that is proven, where proof is asked for", { policy: { unauthenticated: "block" }, verdict: "pass" }, "taken"],
  [
    "that fails in two ways: DMARC comes first",
    { policy: { dmarc: "honour", unauthenticated: "block" }, verdict: "fail", asks: "reject" },
    "dmarc",
  ],
  ["that is spam", { policy: { spam: "block" }, isSpam: true }, "spam"],
  ["that is spam, where nobody minds", { isSpam: true }, "taken"],
  [
    "that is spam and on no list: spam comes first",
    { policy: { spam: "block", unlisted: "block" }, isSpam: true },
    "spam",
  ],
  [
    "that is spam of an allowed sender",
    { allowedBy: allow, policy: { spam: "block" }, isSpam: true, verdict: "pass" },
    "taken",
  ],
  ["that the operator's judge keeps back, without a policy", { opinion: "quarantine" }, "judge"],
  [
    "of an allowed sender, that the judge refuses",
    { opinion: "refuse", allowedBy: allowAnyway, verdict: "pass" },
    "judge",
  ],
  ["that a rule blocks and the judge too: the rule comes first", { opinion: "refuse", blockedBy: "rul_1" }, "rule"],
  ["that the judge takes although it is spam", { opinion: "take", isSpam: true, policy: { spam: "block" } }, "spam"],
  ["that the judge refuses, without a verdict in time", { opinion: "refuse", verdict: "temperror" }, "judge"],
  ["without a verdict in time, without a policy", { verdict: "temperror" }, "taken"],
  [
    "without a verdict in time, where proof is asked for",
    { policy: { unauthenticated: "block" }, verdict: "temperror" },
    "undecided",
  ],
  ["without a verdict in time, where DMARC counts", { policy: { dmarc: "honour" }, verdict: "temperror" }, "undecided"],
  [
    "of an allowed name without a verdict in time",
    { allowedBy: allow, policy: { unlisted: "block" }, verdict: "temperror" },
    "undecided",
  ],
  [
    "of a stranger without a verdict in time, where only the list counts",
    { policy: { unlisted: "block" }, verdict: "temperror" },
    "unlisted",
  ],
  ["that a rule blocks, without a verdict in time", { blockedBy: "rul_1", verdict: "temperror" }, "rule"],
  [
    "of a sender who is allowed without proof, without a verdict",
    { allowedBy: allowAnyway, policy: { unauthenticated: "block" }, verdict: "temperror" },
    "taken",
  ],
];

describe("A mail", () => {
  test.each(rows)("%s", (_name, told, expected) => {
    const judged = judgeMail(facts(told));
    expect(judged.kind === "blocked" ? judged.reason : judged.kind).toBe(expected);
  });
});

test("the id of the rule is known for a rule alone", () => {
  expect(judgeMail(facts({ blockedBy: "rul_1" }))).toMatchObject({ ruleId: "rul_1" });
  expect(judgeMail(facts({ policy: { unlisted: "block" } }))).toMatchObject({ ruleId: null });
});

test("the judge's word says what happens to a mail that it blocks, else the policy does", () => {
  const answerOf = (told: Told) => judgeMail(facts(told));
  expect(answerOf({ opinion: "quarantine", policy: { blocked: "refuse" } })).toMatchObject({ answer: "quarantine" });
  expect(answerOf({ opinion: "refuse" })).toMatchObject({ answer: "refuse" });
  expect(answerOf({ policy: { unlisted: "block", blocked: "refuse" } })).toMatchObject({ answer: "refuse" });
  expect(answerOf({ opinion: "refuse", blockedBy: "rul_1" })).toMatchObject({ reason: "rule", answer: "quarantine" });
});

test("a verdict that nobody waits for any longer proves nothing", () => {
  const told = { allowedBy: allow, policy: { unlisted: "block" }, verdict: "temperror" } as const;
  expect(judgeAsProven(facts(told))).toMatchObject({ reason: "unlisted" });
});
