import { describe, expect, test } from "bun:test";
import type { Authentication } from "../../../src/domain/receive/authentication.ts";
import { type Check, type Findings, forShownSender, verdictOf } from "../../../src/domain/receive/verdict.ts";

const check = (result: Check["result"], alignment: Check["alignment"]): Check => ({ result, alignment });

describe("the verdict", () => {
  const rows: readonly [says: string, findings: Partial<Findings>, verdict: string][] = [
    ["is none where nothing is published and nothing passes", {}, "none"],
    ["is fail where a policy is published and nothing passes", { record: "found" }, "fail"],
    ["is pass if an aligned check passes", { record: "found", checks: [check("pass", "aligned")] }, "pass"],
    ["is pass without a policy too", { checks: [check("pass", "aligned")] }, "pass"],
    [
      "is pass if one of several checks is aligned and passes",
      { record: "found", checks: [check("other", "aligned"), check("pass", "other"), check("pass", "aligned")] },
      "pass",
    ],
    [
      "is pass for the same domain even if the policy is not known",
      { record: "unknown", checks: [check("pass", "aligned")] },
      "pass",
    ],
    ["is fail if a check of another domain passes", { record: "found", checks: [check("pass", "other")] }, "fail"],
    ["is none if a check of another domain passes without a policy", { checks: [check("pass", "other")] }, "none"],
    [
      "is fail if one check is aligned and another one passes",
      { record: "found", checks: [check("other", "aligned"), check("pass", "other")] },
      "fail",
    ],
    ["is open if the DNS does not tell the policy", { record: "unknown" }, "temperror"],
    [
      "is open if the DNS does not tell the key of an aligned signature",
      { record: "found", checks: [check("unknown", "aligned")] },
      "temperror",
    ],
    [
      "is open if it is not known whether a passing check is aligned",
      { record: "found", checks: [check("pass", "unknown")] },
      "temperror",
    ],
    [
      "is fail if the DNS of another domain does not answer",
      { record: "found", checks: [check("unknown", "other")] },
      "fail",
    ],
    [
      "is fail without one address in From, whatever passes",
      { hasDomain: false, checks: [check("pass", "aligned")], isVouchedFor: true },
      "fail",
    ],
    ["is pass if a trusted sealer vouches for the mail", { record: "found", isVouchedFor: true }, "pass"],
  ];
  test.each(rows)("%s", (_says, findings, verdict) => {
    const none: Findings = { hasDomain: true, record: "none", checks: [], isVouchedFor: false };
    expect(verdictOf({ ...none, ...findings })).toBe(verdict as Authentication["verdict"]);
  });
});

describe("an authentication counts for the sender that is shown", () => {
  const authentication: Authentication = {
    verdict: "pass",
    domain: "xn--bcher-kva.example",
    internal: false,
    spf: { result: "none", domain: null, aligned: false },
    dkim: [],
    dmarc: { result: "pass", policy: "reject" },
    arc: { result: "none", sealers: [] },
    source: "checked",
    clientAddress: null,
    tls: false,
  };
  const rows: readonly [says: string, address: string | undefined, verdict: string][] = [
    ["if it has the same domain", "ada@xn--bcher-kva.example", "pass"],
    ["if it has the same domain in letters of its language", "ada@BÜCHER.example", "pass"],
    ["and not if it has another domain", "ada@bank.example", "fail"],
    ["and not if it has no domain", "ada", "fail"],
    ["and not if there is none", undefined, "fail"],
  ];
  test.each(rows)("%s", (_says, address, verdict) => {
    const shown = address === undefined ? undefined : { address };
    expect(forShownSender(authentication, shown).verdict).toBe(verdict as Authentication["verdict"]);
  });

  test("and mail of another inbox of the service stays as it is", () => {
    const internal = { ...authentication, domain: null, internal: true };
    expect(forShownSender(internal, { address: "ada@inbox.example" })).toBe(internal);
  });
});
