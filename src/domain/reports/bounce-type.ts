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
 * The type of a bounce: by the most specific enhanced code, then by the reply code, then by words. Nothing is hard that could be
 * about ourselves: who is taken for gone is not written to any more.
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
  if (hardCodes.has(code)) return aboutOther(words) ?? "hard";
  if (code === "5.2.2" || code === "5.4.7") return "soft";
  // "Too many hops": a loop, which is about nobody.
  if (code === "5.4.6") return "unknown";
  if (blockCodes.has(code) || code.startsWith("5.7.") || code.startsWith("5.6.")) return "block";
  // What Exchange says of addresses that its directory does not have.
  if (code === "5.4.1" && words.has("edge") && !words.has("relaying")) return "hard";
  if (code === "5.5.0" && words.has("unavailable")) return aboutOther(words) ?? "hard";
  return undefined;
}

/** RFC 3463: bad mailbox, bad system, bad syntax, moved; null MX (RFC 7505); no route. */
const hardCodes: ReadonlySet<string> = new Set(["5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10", "5.4.4"]);

/** Too big, and what is about the sender's address. */
const blockCodes: ReadonlySet<string> = new Set(["5.3.4", "5.1.7", "5.1.8"]);

function typeOfWords(words: ReadonlySet<PhraseKind>): BounceType {
  const other = aboutOther(words);
  if (other !== undefined) return other;
  // A server that will try again has not made up its mind.
  if (words.has("later")) return "soft";
  return words.has("gone") ? "hard" : "unknown";
}

/** That they speak of a full mailbox, of a name server that gave no answer to go by, or of the sender and what he sent. */
function aboutOther(words: ReadonlySet<PhraseKind>): BounceType | undefined {
  if (words.has("full") || words.has("unresolved")) return "soft";
  return words.has("refused") || words.has("sender") || words.has("relaying") ? "block" : undefined;
}
