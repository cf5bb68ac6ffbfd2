import type { Ask } from "../../dns/client.ts";
import type { RecordType, RecordValues } from "../../dns/records.ts";
import type { Outbound } from "../../domain/outbound.ts";
import { type Finding, findingsOf } from "./finding.ts";

/** The facts about this service with which its DNS records must agree. */
export interface DnsFacts {
  mailDomain: string;
  smtpHostname: string;
  outbound: Outbound;
  dkim: { selector: string; record: string } | undefined;
}

/** The records, or the reason why there was no answer. */
export type LookedUp<T> = readonly T[] | { noAnswer: string };

export async function lookUp<Type extends RecordType>(
  ask: Ask,
  name: string,
  type: Type,
): Promise<LookedUp<RecordValues[Type]>> {
  const answer = await ask(name, type);
  if (answer.kind === "unknown") return { noAnswer: answer.reason };
  return answer.kind === "found" ? answer.records : [];
}

/** A warning, because without an answer nothing is known. */
export function notAnswered(check: string, name: string, noAnswer: string): Finding {
  return findingsOf(check).warn(
    `no answer from the name server about ${name} (${noAnswer})`,
    "Check the name servers in DNS_SERVERS, or those of this machine, and run this again",
  );
}

/** Compares names without case and final dot (RFC 4343, RFC 1034 §3.1). */
export function sameName(one: string, other: string): boolean {
  return plainName(one) === plainName(other);
}

export function plainName(name: string): string {
  return name.replace(/\.$/, "").toLowerCase();
}
