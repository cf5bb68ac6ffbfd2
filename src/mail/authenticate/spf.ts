import { type Authentication, spfResults } from "../../domain/receive/authentication.ts";
import { asciiDomain } from "../../standards/address.ts";
import { isIpAddress } from "../../standards/ip.ts";
import { findingMemory } from "./findings.ts";
import { mailauth } from "./mailauth-parts.ts";
import type { NotedAnswer, Questions } from "./questions.ts";

export interface CheckedSpf extends Omit<Authentication["spf"], "aligned"> {
  /** How the result came about, in the words of mailauth or of the host that gave it. */
  comment: string;
}

export interface SpfSender {
  /** The address of the client; undefined if it is unknown. */
  address: string | undefined;
  heloName: string;
  /** The reverse path, which is "" for a bounce. */
  from: string;
}

/** Checks SPF of the envelope's sender, and of the client's name for a bounce (RFC 7208 §2.4). */
export async function checkSpf(
  { address, heloName, from }: SpfSender,
  questions: Questions,
  hostname: string,
): Promise<CheckedSpf> {
  // An address with a zone, such as fe80::1%eth0, is of the own network, which no record names.
  if (address === undefined || !isIpAddress(address)) {
    return { result: "none", domain: null, comment: "the address of the client is unknown" };
  }
  const domain = spfDomainOf({ heloName, from });
  if (domain === null) return { result: "none", domain, comment: "the sender has no valid domain" };
  const sender = senderOf({ heloName, from });
  const key = `${address} ${sender.slice(sender.lastIndexOf("@") + 1)}`;
  return findings.find(key, questions, async (noted) =>
    evaluate({ address, heloName, sender, domain }, noted, hostname),
  );
}

/** Without macros, a result depends only on the address and the domain. Macros also insert the local part, the name in HELO and the time. */
const findings = findingMemory<CheckedSpf>((answers) => !answers.some(hasMacro));

function hasMacro({ answer }: NotedAnswer): boolean {
  if (answer === "too many" || answer.kind !== "found") return false;
  return answer.records.some((record) => typeof record === "string" && record.includes("%"));
}

async function evaluate(
  { address, heloName, sender, domain }: { address: string; heloName: string; sender: string; domain: string },
  questions: Questions,
  hostname: string,
): Promise<CheckedSpf> {
  const spf = await mailauth.spf();
  const { status, explanation } = await spf({
    sender,
    ip: address,
    helo: heloName,
    mta: hostname,
    strict: true,
    resolver: questions.ask,
  });
  const result = spfResults.find((each) => each === status.result) ?? "temperror";
  const comment = (status.comment ?? "").replace(`${hostname}: `, "");
  return { result, domain, comment: explanation === undefined ? comment : `${comment}; it explains: ${explanation}` };
}

/** The domain whose SPF record is asked for. */
export function spfDomainOf(sender: Pick<SpfSender, "heloName" | "from">): string | null {
  return domainIn(senderOf(sender));
}

function senderOf({ heloName, from }: Pick<SpfSender, "heloName" | "from">): string {
  return from === "" ? `postmaster@${heloName}` : from;
}

function domainIn(sender: string): string | null {
  return asciiDomain(sender.slice(sender.lastIndexOf("@") + 1)) ?? null;
}

/**
 * The SPF result that a trusted host wrote into its Authentication-Results (RFC 8601). Only its topmost field with an SPF result counts,
 * since further ones may have come with the mail.
 */
export async function spfFromResults(
  results: readonly string[],
  trustedIds: readonly string[],
): Promise<CheckedSpf | undefined> {
  if (results.length === 0 || trustedIds.length === 0) return undefined;
  const parseField = await mailauth.parseField();
  for (const value of results) {
    const { parsed } = parseField(`Authentication-Results: ${value}`);
    const [id = ""] = textOf(parsed.value).split(" ");
    if (!trustedIds.includes(id.toLowerCase())) continue;
    const { value: said, smtp } = isRecord(parsed.spf) ? parsed.spf : {};
    const result = spfResults.find((each) => each === textOf(said).toLowerCase());
    if (result === undefined) continue;
    const sender = isRecord(smtp) ? textOf(smtp.mailfrom) || textOf(smtp.helo) : "";
    return { result, domain: domainIn(sender), comment: `as ${id} found it` };
  }
  return undefined;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
