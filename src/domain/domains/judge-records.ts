import { truncateCodePoints, visibleText } from "../../standards/text.ts";
import type { SeenRecord } from "./seen-record.ts";

/** The answer of one name server about a name and a type. `unknown`: it gave no usable answer. */
export type Said<Value> = { kind: "found"; values: readonly Value[] } | { kind: "nothing" } | { kind: "unknown" };

export type Verdict = Pick<SeenRecord, "status" | "problem" | "found">;

export const noAnswer: Verdict = { status: "unknown", problem: "no_answer", found: [] };
const valid = (found: readonly string[]): Verdict => ({ status: "valid", problem: null, found: shown(found) });
const missing: Verdict = { status: "missing", problem: null, found: [] };
const invalid = (problem: NonNullable<Verdict["problem"]>, found: readonly string[]): Verdict => {
  return { status: "invalid", problem, found: shown(found) };
};

/**
 * Judges the TXT records at the selector of a DKIM key. `atRandom` is the answer for a random selector beside it: where that exists, a wildcard
 * answers for every name, and the record proves nothing.
 */
export function judgeDkim(publicKey: string, said: Said<string>, atRandom: "exists" | "nothing" | "unknown"): Verdict {
  if (said.kind === "unknown") return noAnswer;
  if (atRandom === "exists") return invalid("wildcard", said.kind === "found" ? said.values : []);
  if (said.kind === "nothing") return missing;
  const [text = "", ...others] = said.values;
  if (others.length > 0) return invalid("several", said.values);
  const found = publicKeyIn(text);
  // Without the answer about a wildcard the record is no proof yet.
  if (found === publicKey) return atRandom === "unknown" ? noAnswer : valid(said.values);
  if (found === "") return invalid("revoked", said.values);
  if (found !== undefined && publicKey.startsWith(found)) return invalid("truncated", said.values);
  const unquoted = publicKeyIn(text.replace(/[\\"]/g, ""));
  return invalid(unquoted === publicKey ? "quoted" : "other_value", said.values);
}

/**
 * The public key in a DKIM record: its `p=` without the white space that zone files put into it (RFC 6376 §3.6.1). Undefined if verifiers
 * would not take it for a key of RSA, SHA-256 and mail.
 */
function publicKeyIn(record: string): string | undefined {
  const tags = record.split(";").map((tag) => tag.split(/=(.*)/s, 2).map((part) => part.trim()));
  const tagged = (name: string) => tags.find(([each]) => each === name)?.[1];
  const [version, type = "rsa", hashes = "sha256", services = "*"] = ["v", "k", "h", "s"].map(tagged);
  const isVersion = version === undefined || (version === "DKIM1" && tags[0]?.[0] === "v");
  const isForMail = services.split(":").some((service) => ["*", "email"].includes(service.trim()));
  const isOfHash = hashes.split(":").some((hash) => hash.trim() === "sha256");
  return isVersion && type === "rsa" && isOfHash && isForMail ? tagged("p")?.replace(/\s/g, "") : undefined;
}

export interface MxRecord {
  priority: number;
  exchange: string;
}

/** Judges the MX records of a name. `aliasesToUs` are hosts among them that are aliases of our host. */
export function judgeMx(said: Said<MxRecord>, smtpHostname: string, aliasesToUs: ReadonlySet<string>): Verdict {
  if (said.kind === "unknown") return noAnswer;
  if (said.kind === "nothing") return missing;
  const inOrder = said.values.toSorted((one, other) => one.priority - other.priority);
  const found = inOrder.map(({ priority, exchange }) => `${priority} ${exchange}.`);
  const preferred = inOrder.filter(({ priority }) => priority === inOrder[0]?.priority).map(({ exchange }) => exchange);
  if (preferred.every((exchange) => exchange === smtpHostname)) return valid(found);
  const leadsToUs = preferred.every((exchange) => exchange === smtpHostname || aliasesToUs.has(exchange));
  return invalid(leadsToUs ? "alias" : "other_server", found);
}

/** Where the host of return paths leads: the targets of its chain of aliases in order, and whether it has addresses without an alias. */
export type ReturnPathSaid =
  | { kind: "found"; targets: readonly string[] }
  | { kind: "addresses"; addresses: readonly string[] }
  | { kind: "nothing" }
  | { kind: "unknown" };

export function judgeReturnPath(said: ReturnPathSaid, mailDomain: string): Verdict {
  if (said.kind === "unknown") return noAnswer;
  if (said.kind === "nothing") return missing;
  if (said.kind === "addresses") return invalid("proxied", said.addresses);
  return said.targets.includes(mailDomain) ? valid(said.targets) : invalid("other_value", said.targets);
}

/** Judges the TXT records at `_dmarc`. Other records than those of DMARC do not count (RFC 9989). */
export function judgeDmarc(said: Said<string>): Verdict {
  if (said.kind === "unknown") return noAnswer;
  const policies = said.kind === "found" ? said.values.filter((text) => /^v\s*=\s*DMARC1\s*(?:;|$)/.test(text)) : [];
  const [policy] = policies;
  if (policy === undefined) return missing;
  if (policies.length > 1) return invalid("several", policies);
  return /;\s*p\s*=\s*(?:none|quarantine|reject)\s*(?:;|$)/i.test(policy)
    ? valid(policies)
    : invalid("other_value", policies);
}

/**
 * The verdict of several servers. A server without an answer does not count. The record is valid only if it is so at every other one; where
 * they differ about that, nothing is known.
 */
export function combined(verdicts: readonly Verdict[]): Verdict {
  const [first, ...others] = verdicts.filter(({ status }) => status !== "unknown");
  if (first === undefined) return verdicts[0] ?? noAnswer;
  const differs = others.some(({ status }) => (status === "valid") !== (first.status === "valid"));
  if (!differs) return first;
  const found = [first, ...others].find((verdict) => verdict.found.length > 0)?.found ?? [];
  return { status: "unknown", problem: "not_everywhere", found };
}

/** Says of a missing record that the form has added the zone to its name, if the record is found at that name. */
export function withDoubledName(verdict: Verdict, isDoubled: boolean): Verdict {
  return verdict.status === "missing" && isDoubled
    ? { status: "invalid", problem: "doubled_name", found: [] }
    : verdict;
}

const mostFound = 5;
const mostFoundCharacters = 512;

function shown(found: readonly string[]): string[] {
  return found.slice(0, mostFound).map((text) => truncateCodePoints(visibleText(text), mostFoundCharacters));
}
