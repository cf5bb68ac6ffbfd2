import { describe, expect, test } from "bun:test";
import { defaultInboundPolicy, strictest } from "../../src/domain/policy.ts";
import {
  allowingRule,
  blockingRule,
  inboundPolicyOf,
  parsePattern,
  patternsOf,
  type Rule,
  ruleBook,
  sendPolicyOfTenant,
} from "../../src/domain/rules.ts";

describe("a pattern", () => {
  test.each([
    ["an address", "jane@example.com", "jane@example.com"],
    ["an address in upper case", "Jane@EXAMPLE.com", "jane@example.com"],
    ["a domain", "Example.com", "example.com"],
    ["subdomains", "*.Example.com", "*.example.com"],
    ["a whole top-level domain", "*.example", "*.example"],
    ["a domain with other letters", "bücher.example", "xn--bcher-kva.example"],
    ["an address at such a domain", "jane@Bücher.example", "jane@xn--bcher-kva.example"],
    ["subdomains of it", "*.bücher.example", "*.xn--bcher-kva.example"],
    ["an address at a host without a dot", "root@localhost", "root@localhost"],
    ["an address with a tag", "jane+news@example.com", "jane+news@example.com"],
    ["a word", "jane", undefined],
    ["nothing", "", undefined],
    ["a star", "*", undefined],
    ["all addresses of a domain in another notation", "*@example.com", undefined],
    ["a star within a name", "ex*mple.com", undefined],
    ["a star behind a name", "example.*", undefined],
    ["a domain behind an at sign", "@example.com", undefined],
    ["a display name", "Jane <jane@example.com>", undefined],
    ["two addresses", "jane@example.com,joe@example.com", undefined],
    ["a path", "example.com/x", undefined],
    ["a line break", "example.com\n", undefined],
    ["an IP address", "192.0.2.1", undefined],
    ["a dot at the end", "example.com.", undefined],
  ])("%s", (_, text, parsed) => {
    expect(parsePattern(text)).toBe(parsed);
  });
});

describe("the patterns that match an address", () => {
  test.each([
    ["jane@example.com", ["jane@example.com", "example.com", "*.com"]],
    ["Jane@Mail.Example.Com", ["jane@mail.example.com", "mail.example.com", "*.com", "*.example.com"]],
    ['"jane"@example.com', ["jane@example.com", "example.com", "*.com"]],
    ["jane@bücher.example.", ["jane@xn--bcher-kva.example", "xn--bcher-kva.example", "*.example"]],
    ['"ceo@boss.example"@evil.example', ["ceo@boss.example@evil.example", "evil.example", "*.example"]],
    ["jane@under_score.example", ["jane@under_score.example", "under_score.example", "*.example"]],
    ["root@localhost", ["root@localhost", "localhost"]],
    ["", []],
    ["no address", []],
  ])("%s", (address, patterns) => {
    expect(patternsOf(address)).toEqual(patterns);
  });

  test("have at most eight parents, of which those with few labels are there", () => {
    const patterns = patternsOf(`a@${"x.".repeat(100)}evil.example`);
    expect(patterns).toHaveLength(2 + 8);
    expect(patterns).toContain("*.evil.example");
  });
});

const inbox = { id: "inb_1", externalId: "user-7" };
let made = 0;
function rule(
  action: Rule["action"],
  pattern: string,
  { direction = "inbound", inboxId = "", externalId = "", evenUnauthenticated = false }: Partial<Rule> = {},
): Rule {
  made += 1;
  return { id: `rul_${made}`, inboxId, externalId, direction, action, pattern, evenUnauthenticated };
}

describe("a block rule", () => {
  test.each<[what: string, rules: Rule[], addresses: string[], isBlocked: boolean]>([
    ["of the account", [rule("block", "evil.example")], ["a@evil.example"], true],
    ["of the inbox", [rule("block", "evil.example", { inboxId: "inb_1" })], ["a@evil.example"], true],
    ["of the tenant", [rule("block", "evil.example", { externalId: "user-7" })], ["a@evil.example"], true],
    ["of another inbox", [rule("block", "evil.example", { inboxId: "inb_2" })], ["a@evil.example"], false],
    ["of another tenant", [rule("block", "evil.example", { externalId: "user-8" })], ["a@evil.example"], false],
    [
      "of a tenant named like the inbox",
      [rule("block", "evil.example", { externalId: "inb_1" })],
      ["a@evil.example"],
      false,
    ],
    ["in the other direction", [rule("block", "evil.example", { direction: "outbound" })], ["a@evil.example"], false],
    [
      "by the second address, the envelope sender",
      [rule("block", "evil.example")],
      ["a@b.example", "x@evil.example"],
      true,
    ],
    ["with a domain does not match subdomains", [rule("block", "evil.example")], ["a@mail.evil.example"], false],
    ["with subdomains does not match the domain", [rule("block", "*.evil.example")], ["a@evil.example"], false],
    ["with subdomains matches those below them", [rule("block", "*.evil.example")], ["a@x.y.evil.example"], true],
    ["does not match a name that ends alike", [rule("block", "evil.example")], ["a@notevil.example"], false],
    ["does not match a name that begins alike", [rule("block", "evil.example")], ["a@evil.example.com"], false],
    [
      "beats an allow rule of the same address",
      [rule("allow", "a@evil.example"), rule("block", "a@evil.example")],
      ["a@evil.example"],
      true,
    ],
    [
      "of the account beats an allow rule of the inbox",
      [rule("allow", "a@evil.example", { inboxId: "inb_1", evenUnauthenticated: true }), rule("block", "*.example")],
      ["a@evil.example"],
      true,
    ],
    ["and no address", [rule("block", "evil.example")], [""], false],
  ])("%s", (_, rules, addresses, isBlocked) => {
    expect(blockingRule(ruleBook(rules, []), inbox, "inbound", addresses) !== undefined).toBe(isBlocked);
  });
});

describe("an allow rule", () => {
  test("is found at each level, and only in its direction", () => {
    const book = ruleBook([rule("allow", "boss.example", { inboxId: "inb_1" })], []);
    expect(allowingRule(book, inbox, "inbound", "Ceo@Boss.Example")?.pattern).toBe("boss.example");
    expect(allowingRule(book, inbox, "outbound", "ceo@boss.example")).toBeUndefined();
    expect(allowingRule(book, { ...inbox, id: "inb_2" }, "inbound", "ceo@boss.example")).toBeUndefined();
    for (const other of ["a@boss.example.evil.com", "a@evil-boss.example", '"ceo@boss.example"@evil.com'])
      expect(allowingRule(book, inbox, "inbound", other)).toBeUndefined();
  });

  test("that also holds for unproven senders is preferred", () => {
    const strict = rule("allow", "ceo@boss.example");
    const mild = rule("allow", "boss.example", { inboxId: "inb_1", evenUnauthenticated: true });
    expect(allowingRule(ruleBook([strict, mild], []), inbox, "inbound", "ceo@boss.example")).toBe(mild);
  });
});

describe("a policy", () => {
  const ofAccount = { inboxId: "", externalId: "", sendPolicy: "open", inbound: defaultInboundPolicy } as const;
  const ofTenant = {
    ...ofAccount,
    externalId: "user-7",
    inbound: { ...defaultInboundPolicy, dmarc: "honour" },
  } as const;
  const ofInbox = { ...ofAccount, inboxId: "inb_1", inbound: { ...defaultInboundPolicy, unlisted: "block" } } as const;

  test("of the inbox counts before that of the tenant, and that before the one of the account", () => {
    const found = (...policies: Parameters<typeof ruleBook>[1]) => inboundPolicyOf(ruleBook([], policies), inbox);
    expect(found(ofAccount, ofTenant, ofInbox)).toEqual({ inbound: ofInbox.inbound, from: "inbox" });
    expect(found(ofAccount, ofTenant)).toEqual({ inbound: ofTenant.inbound, from: "tenant" });
    expect(found(ofAccount)).toEqual({ inbound: defaultInboundPolicy, from: "account" });
    expect(found()).toEqual({ inbound: defaultInboundPolicy, from: "default" });
  });

  test("of a tenant that only says what may be sent leaves the inbound one of the account", () => {
    const closed = { ...ofTenant, inbound: null, sendPolicy: "closed" } as const;
    const book = ruleBook([], [ofAccount, closed]);
    expect(inboundPolicyOf(book, inbox).from).toBe("account");
    expect(sendPolicyOfTenant(book, "user-7")).toBe("closed");
    expect(sendPolicyOfTenant(book, "user-8")).toBe("open");
    expect(sendPolicyOfTenant(book, null)).toBe("open");
  });

  test("of several for sending, the strictest holds", () => {
    expect(strictest("open", "known", "open")).toBe("known");
    expect(strictest("closed", "known")).toBe("closed");
    expect(strictest()).toBe("open");
  });
});
