import { describe, expect, test } from "bun:test";
import {
  combined,
  judgeDkim,
  judgeDmarc,
  judgeMx,
  judgeReturnPath,
  type Said,
  type Verdict,
  withDoubledName,
} from "../../../src/domain/domains/judge-records.ts";

const found = <Value>(...values: Value[]): Said<Value> => ({ kind: "found", values });
const nothing: Said<never> = { kind: "nothing" };
const unknown: Said<never> = { kind: "unknown" };
/** `valid`, `missing`, or the problem. */
const word = ({ status, problem }: Verdict) => problem ?? status;

const key = "MIIBIjANBgkqhkiG9w0BAQ";
const ours = `v=DKIM1; k=rsa; p=${key}`;

test.each([
  ["our record", found(ours), "valid"],
  ["our record with white space in the key", found("v=DKIM1; k=rsa; p=MIIBIjANBg kqhkiG9w0 BAQ"), "valid"],
  ["our key without the other tags", found(`p=${key};`), "valid"],
  ["our key in another order, with further tags", found(`k=rsa;t=s; s=email; h=sha1:sha256; p=${key}`), "valid"],
  ["nothing", nothing, "missing"],
  ["no answer", unknown, "no_answer"],
  ["our record and another", found(ours, "v=spf1 -all"), "several"],
  ["our record twice", found(ours, ours), "several"],
  ["another key", found("v=DKIM1; k=rsa; p=MIIBother"), "other_value"],
  ["another text", found("google-site-verification=1"), "other_value"],
  ["no key", found("v=DKIM1; p="), "revoked"],
  ["half of our key", found("v=DKIM1; k=rsa; p=MIIBIjANBg"), "truncated"],
  ["our record in quotation marks", found(`"${ours}"`), "quoted"],
  ["our record in two quoted strings", found(`"v=DKIM1; k=rsa; p=MIIBIjANBg" "kqhkiG9w0BAQ"`), "quoted"],
  ["our record with escaped quotation marks", found(`\\"${ours}\\"`), "quoted"],
  ["our key as one of another kind", found(`v=DKIM1; k=ed25519; p=${key}`), "other_value"],
  ["our key for another service", found(`v=DKIM1; s=tlsrpt; p=${key}`), "other_value"],
  ["our key for SHA-1 alone", found(`v=DKIM1; h=sha1; p=${key}`), "other_value"],
  ["our key of another version", found(`v=DKIM2; p=${key}`), "other_value"],
] as const)("the DKIM record: %s is %s", (_, said, expected) => {
  expect(word(judgeDkim(key, said, "nothing"))).toBe(expected);
});

test("where a random selector answers too, or says nothing, our record proves nothing", () => {
  expect(word(judgeDkim(key, found(ours), "exists"))).toBe("wildcard");
  expect(judgeDkim(key, found(ours), "unknown")).toMatchObject({ status: "unknown", problem: "no_answer" });
  expect(word(judgeDkim(key, nothing, "exists"))).toBe("wildcard");
});

describe("the MX record:", () => {
  const mx = (...records: [priority: number, exchange: string][]) =>
    found(...records.map(([priority, exchange]) => ({ priority, exchange })));
  test.each([
    ["ours", mx([10, "mx.us"]), "valid"],
    ["ours first", mx([20, "mx.other"], [10, "mx.us"]), "valid"],
    ["ours beside another of equal preference", mx([10, "mx.us"], [10, "mx.other"]), "other_server"],
    ["ours last", mx([10, "mx.other"], [20, "mx.us"]), "other_server"],
    ["another", mx([0, "mx.other"]), "other_server"],
    ["a null MX", mx([0, ""]), "other_server"],
    ["an alias of ours", mx([10, "alias.us"]), "alias"],
    ["nothing", nothing, "missing"],
    ["no answer", unknown, "no_answer"],
  ] as const)("%s is %s", (_, said, expected) => {
    expect(word(judgeMx(said, "mx.us", new Set(["alias.us"])))).toBe(expected);
  });
});

test.each([
  ["leads to us", { kind: "found", targets: ["inbox.us"] }, "valid"],
  ["leads to us in two steps", { kind: "found", targets: ["a.b", "inbox.us", "further.us"] }, "valid"],
  ["leads elsewhere", { kind: "found", targets: ["a.b"] }, "other_value"],
  ["has addresses", { kind: "addresses", addresses: ["192.0.2.1"] }, "proxied"],
  ["is not there", nothing, "missing"],
  ["gets no answer", unknown, "no_answer"],
] as const)("the host of return paths that %s is %s", (_, said, expected) => {
  expect(word(judgeReturnPath({ ...said }, "inbox.us"))).toBe(expected);
});

test.each([
  [found("v=DMARC1; p=none"), "valid"],
  [found("v=DMARC1;p=reject;sp=none; rua=mailto:a@b.example"), "valid"],
  [found("other", "v=DMARC1; p=quarantine"), "valid"],
  [found("v=DMARC1; p=none", "v=DMARC1; p=reject"), "several"],
  [found("v=DMARC1; p=perhaps"), "other_value"],
  [found("v=DMARC1"), "other_value"],
  [found("v=DMARC10; p=none"), "missing"],
  [nothing, "missing"],
  [unknown, "no_answer"],
] as const)("the DMARC records %j are %s", (said, expected) => {
  expect(word(judgeDmarc(said))).toBe(expected);
});

test.each([
  [["valid", "valid", "valid"], "valid"],
  [["valid", "unknown", "unknown"], "valid"],
  [["valid", "missing"], "not_everywhere"],
  [["missing", "unknown", "valid"], "not_everywhere"],
  [["missing", "missing"], "missing"],
  [["unknown", "unknown"], "no_answer"],
] as const)("of the servers that say %j the verdict is %s", (statuses, expected) => {
  const verdicts = statuses.map((status): Verdict => {
    return { status, problem: status === "unknown" ? "no_answer" : null, found: [] };
  });
  const verdict = combined(verdicts);
  expect(word(verdict)).toBe(expected);
  if (expected === "not_everywhere") expect(verdict.status).toBe("unknown");
});

test("a name that the form doubled is found, and only where the record is missing", () => {
  const missing: Verdict = { status: "missing", problem: null, found: [] };
  expect(word(withDoubledName(missing, true))).toBe("doubled_name");
  expect(withDoubledName(missing, false)).toEqual(missing);
});

test("what was found is shown in part, without what a database refuses", () => {
  const { found: shown } = judgeDmarc(found(...Array.from({ length: 9 }, () => `v=DMARC1; \0${"é".repeat(600)}`)));
  expect(shown).toHaveLength(5);
  expect(shown[0]).toHaveLength(512);
  expect(shown[0]).not.toContain("\0");
});
