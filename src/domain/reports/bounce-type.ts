import { type PhraseKind, phrasesIn, type SaidText } from "./phrases.ts";
import type { BounceType } from "./report.ts";

/** What a server said of a mail that it did not take. */
export interface Refused {
  /** Those that stand in it, the server's own words first (RFC 3463). */
  enhancedCodes: readonly string[];
  code: number | undefined;
  said: SaidText;
}

/**
 * The type of a bounce: by words that leave no doubt, then by the most specific enhanced code, the reply code, and all other words.
 * Nothing that could be about ourselves is hard, since a hard bounce suppresses its recipient.
 */
export function bounceTypeOf({ enhancedCodes, code, said }: Refused): BounceType {
  const enhancedCode = mostSpecific(enhancedCodes);
  const words = phrasesIn(said);
  const byCode = enhancedCode === undefined ? undefined : typeOfCode(enhancedCode, words);
  if (byCode !== undefined) return byCode;
  const isForNow = enhancedCode?.startsWith("4.");
  if ((enhancedCode === undefined || isForNow) && code !== undefined && code < 500) return "soft";
  const byWords = typeOfWords(words);
  // Whoever gave up under a code that says only "for now" says in words why: Google, of a domain that is not there.
  return isForNow && byWords !== "hard" ? "soft" : byWords;
}

/** The code that says most: the first of those that name a subject and a detail, then of those that name one of them. */
export function mostSpecific(codes: readonly string[]): string | undefined {
  const ranked = codes.map((code) => ({ code, says: specificity(code) }));
  const most = Math.max(...ranked.map(({ says }) => says));
  return ranked.find(({ says }) => says === most)?.code;
}

/** `x.0.0`, `x.5.0` and 5.0.9xx say no more than their class. */
function specificity(code: string): number {
  const [, subject = 0, detail = 0] = code.split(".").map(Number);
  if (subject === 0 || (subject === 5 && detail === 0)) return 0;
  return detail === 0 ? 1 : 2;
}

function typeOfCode(code: string, words: ReadonlySet<PhraseKind>): BounceType | undefined {
  if (code.startsWith("4.")) return specificity(code) === 0 ? undefined : "soft";
  if (isOnlyUnavailable(words)) return "unknown";
  const clear = clearTypeOf(words);
  if (clear !== undefined) return clear;
  if (hardCodes.has(code)) return aboutOther(words) ?? "hard";
  if (code === "5.2.2" || code === "5.4.7") return "soft";
  // No route: only words tell a domain that does not exist from one that was not found today.
  if (code === "5.4.4") return aboutOther(words) ?? (saysGone(words) && !words.has("later") ? "hard" : "soft");
  // "Too many hops": a loop, which is about nobody.
  if (code === "5.4.6") return "unknown";
  if (blockCodes.has(code) || code.startsWith("5.7.") || code.startsWith("5.6.")) return "block";
  // What Exchange says of addresses that its directory does not have.
  if (code === "5.4.1" && words.has("edge") && !words.has("relaying")) return "hard";
  return undefined;
}

/** RFC 3463: bad mailbox, bad system, bad syntax, moved; null MX (RFC 7505). */
const hardCodes: ReadonlySet<string> = new Set(["5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10"]);

/** Too big, and what is about the sender's address. */
const blockCodes: ReadonlySet<string> = new Set(["5.3.4", "5.1.7", "5.1.8"]);

function typeOfWords(words: ReadonlySet<PhraseKind>): BounceType {
  const other = aboutOther(words);
  if (other !== undefined) return other;
  // A server that will try again has not made up its mind.
  if (words.has("later")) return "soft";
  return saysGone(words) ? "hard" : "unknown";
}

/** The type by words that beat any code: no such user, or a full mailbox, and no word beside them about anything else. */
function clearTypeOf(words: ReadonlySet<PhraseKind>): BounceType | undefined {
  if (words.has("later") || words.has("unresolved") || isAboutUs(words)) return undefined;
  if (words.has("full")) return "soft";
  return words.has("noUser") ? "hard" : undefined;
}

/** Outlook.com says "mailbox unavailable" of missing users, others of full or closed mailboxes and of reputations. */
function isOnlyUnavailable(words: ReadonlySet<PhraseKind>): boolean {
  return words.has("unavailable") && !words.has("later") && !saysGone(words) && aboutOther(words) === undefined;
}

function saysGone(words: ReadonlySet<PhraseKind>): boolean {
  return words.has("noUser") || words.has("gone");
}

/** A full mailbox, a failed look-up of a name, or a word about the sender and what was sent. */
function aboutOther(words: ReadonlySet<PhraseKind>): BounceType | undefined {
  if (words.has("full") || words.has("unresolved")) return "soft";
  return isAboutUs(words) ? "block" : undefined;
}

function isAboutUs(words: ReadonlySet<PhraseKind>): boolean {
  return words.has("refused") || words.has("sender") || words.has("relaying");
}
