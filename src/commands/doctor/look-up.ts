import { type Finding, findingsOf } from "./finding.ts";

/** The records; none where there are none; in words why nobody could say. */
export type LookedUp<T> = T[] | { noAnswer: string };

export async function lookUp<T>(question: Promise<T[]>): Promise<LookedUp<T>> {
  try {
    return await question;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code).replace(/^DNS_/, "") : "no answer";
    return absent.has(code) ? [] : { noAnswer: code };
  }
}

/** That a name is not there, and that it has no such record. */
const absent = new Set(["ENOTFOUND", "ENODATA"]);

/** Nothing is known to be wrong, and nothing to be right. */
export function notAnswered(check: string, name: string, noAnswer: string): Finding {
  return findingsOf(check).warn(
    `the name server gives no answer about ${name} (${noAnswer})`,
    "Look whether this machine's resolver works, then ask again",
  );
}

/** Names compare without regard to case and the dot at the end (RFC 4343, RFC 1034 §3.1). */
export function sameName(one: string, other: string): boolean {
  return plainName(one) === plainName(other);
}

export function plainName(name: string): string {
  return name.replace(/\.$/, "").toLowerCase();
}
