import type { Failure } from "../outcome.ts";
import { type PhraseKind, phrasesIn, type SaidText, saidText } from "./phrases.ts";
import type { BounceType } from "./report.ts";

/** The reply of a server that refused a mail. */
export interface Refused {
  /** The enhanced codes in the reply (RFC 3463), those of the server itself first. */
  enhancedCodes: readonly string[];
  code: number | undefined;
  said: SaidText;
}

/**
 * The type of a bounce. It is decided by words that are certain; else by the most specific enhanced code, the reply code and all other
 * words. A refusal that could be about us is never hard, because a hard bounce suppresses its recipient.
 */
export function bounceTypeOf({ enhancedCodes, code, said }: Refused): BounceType {
  const enhancedCode = mostSpecific(enhancedCodes);
  const words = phrasesIn(said);
  const byCode = enhancedCode === undefined ? undefined : typeOfCode(enhancedCode, words);
  if (byCode !== undefined) return byCode;
  const isForNow = enhancedCode?.startsWith("4.");
  if ((enhancedCode === undefined || isForNow) && code !== undefined && code < 500) return "soft";
  const byWords = typeOfWords(words);
  // If a domain does not exist, Google's final report has a temporary code. Only its words say that the failure is permanent.
  return isForNow && byWords !== "hard" ? "soft" : byWords;
}

/**
 * The bounce type of a mail that the server refused in its SMTP reply. The words of the reply count only if the recipient's own server
 * wrote them, because the words of a relay may be about the relay.
 */
export function typeOfRefusal({ code, enhancedCode, message }: Failure, isRecipientsServer: boolean): BounceType {
  return bounceTypeOf({
    enhancedCodes: enhancedCode === null ? [] : [enhancedCode],
    code: code ?? undefined,
    said: saidText(isRecipientsServer ? message : ""),
  });
}

/** The most specific code: the first one with a subject and a detail, or else the first one with a subject. */
export function mostSpecific(codes: readonly string[]): string | undefined {
  const ranked = codes.map((code) => ({ code, rank: specificity(code) }));
  const most = Math.max(...ranked.map(({ rank }) => rank));
  return ranked.find(({ rank }) => rank === most)?.code;
}

/**
 * How much a code says beyond its class (RFC 3463 §2). 0: nothing, as `x.0.0`, `x.5.0` and `5.0.9xx`. 1: it has a subject. 2: it has a
 * subject and a detail.
 */
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
  // 5.4.4 means "no route". Only the words show whether the domain does not exist or its server was not found this time.
  if (code === "5.4.4") return aboutOther(words) ?? (saysGone(words) && !words.has("later") ? "hard" : "soft");
  // 5.4.6 means a routing loop, which is not about the recipient.
  if (code === "5.4.6") return "unknown";
  if (blockCodes.has(code) || code.startsWith("5.7.") || code.startsWith("5.6.")) return "block";
  // Exchange has this code for addresses that are not in its directory.
  if (code === "5.4.1" && words.has("edge") && !words.has("relaying")) return "hard";
  return undefined;
}

/** Codes about a bad address: bad mailbox, bad system, bad syntax, moved (RFC 3463); null MX (RFC 7505). */
const hardCodes: ReadonlySet<string> = new Set(["5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10"]);

/** Codes for a mail that is too big, and for a bad address of the sender. */
const blockCodes: ReadonlySet<string> = new Set(["5.3.4", "5.1.7", "5.1.8"]);

function typeOfWords(words: ReadonlySet<PhraseKind>): BounceType {
  const other = aboutOther(words);
  if (other !== undefined) return other;
  // The server will try again.
  if (words.has("later")) return "soft";
  return saysGone(words) ? "hard" : "unknown";
}

/** The type by words that count more than any code: no such user, or a full mailbox, without words about another reason. */
function clearTypeOf(words: ReadonlySet<PhraseKind>): BounceType | undefined {
  if (words.has("later") || words.has("unresolved") || isAboutUs(words)) return undefined;
  if (words.has("full")) return "soft";
  return words.has("noUser") ? "hard" : undefined;
}

/**
 * Whether "mailbox unavailable" are the only words that say anything. Outlook.com means a missing user by them; other servers mean a full
 * mailbox or a bad reputation.
 */
function isOnlyUnavailable(words: ReadonlySet<PhraseKind>): boolean {
  return words.has("unavailable") && !words.has("later") && !saysGone(words) && aboutOther(words) === undefined;
}

function saysGone(words: ReadonlySet<PhraseKind>): boolean {
  return words.has("noUser") || words.has("gone");
}

/** The type by words about a full mailbox, a failed DNS look-up, or about the sender or the mail. */
function aboutOther(words: ReadonlySet<PhraseKind>): BounceType | undefined {
  if (words.has("full") || words.has("unresolved")) return "soft";
  return isAboutUs(words) ? "block" : undefined;
}

function isAboutUs(words: ReadonlySet<PhraseKind>): boolean {
  return words.has("refused") || words.has("sender") || words.has("relaying");
}
