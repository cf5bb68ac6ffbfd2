import { asciiDomain, parseSendAddress, splitAddress, unquoted } from "../standards/address.ts";
import { defaultInboundPolicy, type InboundPolicy, type SendPolicy } from "./policy.ts";

export const ruleDirections = ["inbound", "outbound"] as const;
export type RuleDirection = (typeof ruleDirections)[number];

export const ruleActions = ["allow", "block"] as const;
export type RuleAction = (typeof ruleActions)[number];

/** The inboxes that a rule or a policy is for: one inbox, those of a tenant, or with two empty texts all of an account. */
export interface Scope {
  inboxId: string;
  externalId: string;
}

/** A rule: mail from or to the addresses that its pattern matches is allowed or blocked. */
export interface Rule extends Scope {
  id: string;
  direction: RuleDirection;
  action: RuleAction;
  pattern: string;
  /** Only of an inbound `allow`: whether it also holds for mail whose sender is not proven. */
  evenUnauthenticated: boolean;
}

/** The policy of an inbox, of a tenant or of an account. `inbound` is null if it is inherited. */
export interface Policy extends Scope {
  inbound: InboundPolicy | null;
  sendPolicy: SendPolicy;
}

/** The most rules of an account, and of one inbox among them. */
export const mostRules = 10_000;
export const mostInboxRules = 1_000;
/** The most policies of an account: they are in memory with its rules. */
export const mostPolicies = 10_000;

/** The form of a pattern, as the end of a sentence that begins with its name. */
export const patternForm =
  "must be an address (jane@example.com), a domain (example.com) or its subdomains (*.example.com)";

/** Parses a pattern. Returns it in lower case with A-labels (RFC 5890), or undefined if it is none. */
export function parsePattern(text: string): string | undefined {
  if (text.startsWith("*.")) {
    const domain = asciiDomain(text.slice(2));
    return domain === undefined ? undefined : `*.${domain}`;
  }
  if (!text.includes("@")) {
    const domain = asciiDomain(text);
    return domain?.includes(".") ? domain : undefined;
  }
  // Real addresses with one of these are rare, and the writer probably meant a domain.
  if (/[*%]/.test(text)) return undefined;
  return parseSendAddress(text, text.slice(text.lastIndexOf("@") + 1))?.toLowerCase();
}

/** The most parents of a domain that are looked up. They are the shortest ones, so that no sender escapes a block by adding labels. */
const mostParents = 8;

/** All patterns that match an address: the address, its domain, and the subdomains of each parent of that domain. */
export function patternsOf(address: string): string[] {
  const { local, domain: given } = splitAddress(address) ?? { local: "", domain: "" };
  if (given === "") return [];
  const written = given.replace(/\.$/, "");
  const domain = asciiDomain(written) ?? written.toLowerCase();
  const patterns = [`${unquoted(local).toLowerCase()}@${domain}`, domain];
  let end = domain.length;
  for (let parents = 0; parents < mostParents; parents += 1) {
    const dot = domain.lastIndexOf(".", end - 1);
    if (dot < 0) break;
    patterns.push(`*${domain.slice(dot)}`);
    end = dot;
  }
  return patterns;
}

/** The rules and policies of an account, in maps: a look-up takes the same time with one rule and with 10,000. */
export interface RuleBook {
  /** The number of rules and policies. */
  size: number;
  /** The rules by `scopeName`, and among them by pattern. A pattern has at most four: two directions with two actions. */
  rules: ReadonlyMap<string, ReadonlyMap<string, readonly Rule[]>>;
  /** The policies by `scopeName`. */
  policies: ReadonlyMap<string, Policy>;
}

export function ruleBook(rules: readonly Rule[], policies: readonly Policy[]): RuleBook {
  const byScope = new Map<string, Map<string, Rule[]>>();
  for (const rule of rules) {
    const name = scopeName(rule);
    const ofScope = byScope.get(name) ?? new Map<string, Rule[]>();
    byScope.set(name, ofScope);
    const ofPattern = ofScope.get(rule.pattern);
    if (ofPattern === undefined) ofScope.set(rule.pattern, [rule]);
    else ofPattern.push(rule);
  }
  return {
    size: rules.length + policies.length,
    rules: byScope,
    policies: new Map(policies.map((policy) => [scopeName(policy), policy])),
  };
}

/** An inbox, as far as rules and policies are concerned. */
export interface RuledInbox {
  id: string;
  externalId: string | null;
}

/**
 * The rule that blocks one of these addresses for an inbox, if there is one. No allow rule at any level lifts it. For inbound mail the
 * addresses are those of `From` and the envelope sender.
 */
export function blockingRule(
  book: RuleBook,
  inbox: RuledInbox,
  direction: RuleDirection,
  addresses: readonly string[],
): Rule | undefined {
  if (book.rules.size === 0) return undefined;
  const patterns = addresses.flatMap(patternsOf);
  return matching(book, inbox, patterns, (rule) => rule.action === "block" && rule.direction === direction);
}

/**
 * The rule that allows an address for an inbox, if there is one. For inbound mail the address is that of `From` alone. Without
 * `evenUnauthenticated` such a rule holds only if the sender is proven, so a rule with it is preferred.
 */
export function allowingRule(
  book: RuleBook,
  inbox: RuledInbox,
  direction: RuleDirection,
  address: string,
): Rule | undefined {
  if (book.rules.size === 0) return undefined;
  const patterns = patternsOf(address);
  const allows = (rule: Rule) => rule.action === "allow" && rule.direction === direction;
  return (
    matching(book, inbox, patterns, (rule) => allows(rule) && rule.evenUnauthenticated) ??
    matching(book, inbox, patterns, allows)
  );
}

/** The first rule for an inbox with one of these patterns: those of the account first, then those of the tenant and of the inbox. */
function matching(
  { rules }: RuleBook,
  inbox: RuledInbox,
  patterns: readonly string[],
  isWanted: (rule: Rule) => boolean,
): Rule | undefined {
  for (const scope of scopesOf(inbox).toReversed()) {
    const ofScope = rules.get(scope);
    if (ofScope === undefined) continue;
    for (const pattern of patterns) {
      const found = ofScope.get(pattern)?.find(isWanted);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

export interface FoundPolicy {
  inbound: InboundPolicy;
  /** The owner of the policy: the inbox itself, its tenant or its account; `default` if none of them has one. */
  from: "inbox" | "tenant" | "account" | "default";
}

/** The policy for inbound mail of an inbox. The nearest counts, whole. */
export function inboundPolicyOf({ policies }: RuleBook, inbox: RuledInbox): FoundPolicy {
  for (const name of policies.size === 0 ? [] : scopesOf(inbox)) {
    const policy = policies.get(name);
    if (policy?.inbound == null) continue;
    const from = policy.inboxId !== "" ? "inbox" : policy.externalId !== "" ? "tenant" : "account";
    return { inbound: policy.inbound, from };
  }
  return { inbound: defaultInboundPolicy, from: "default" };
}

/** The policy for what the inboxes of a tenant send. */
export function sendPolicyOfTenant({ policies }: RuleBook, externalId: string | null): SendPolicy {
  if (policies.size === 0 || externalId === null) return "open";
  return policies.get(scopeName({ inboxId: "", externalId }))?.sendPolicy ?? "open";
}

/** The names of the scopes of an inbox, nearest first. Without an id they are those of its tenant. */
function scopesOf({ id, externalId }: RuledInbox): string[] {
  const tenants = externalId === null ? [] : [scopeName({ inboxId: "", externalId })];
  return [...(id === "" ? [] : [id]), ...tenants, ""];
}

/** The name of a scope: the id of an inbox, `=` and the externalId of a tenant, or "" for the account. */
function scopeName({ inboxId, externalId }: Scope): string {
  if (inboxId !== "") return inboxId;
  return externalId === "" ? "" : `=${externalId}`;
}
