import type { Ask } from "../../dns/client.ts";
import type { RecordType, RecordValues } from "../../dns/records.ts";
import { type Finding, findingsOf } from "./finding.ts";

/** The records; none where there are none; in words why nobody could say. */
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

/** Nothing is known to be wrong, and nothing to be right. */
export function notAnswered(check: string, name: string, noAnswer: string): Finding {
  return findingsOf(check).warn(
    `the name server gives no answer about ${name} (${noAnswer})`,
    "Look whether the name servers of DNS_SERVERS, or else of this machine, work, then ask again",
  );
}

/** Names compare without regard to case and the dot at the end (RFC 4343, RFC 1034 §3.1). */
export function sameName(one: string, other: string): boolean {
  return plainName(one) === plainName(other);
}

export function plainName(name: string): string {
  return name.replace(/\.$/, "").toLowerCase();
}
