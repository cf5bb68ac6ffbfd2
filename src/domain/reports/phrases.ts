import { type PhraseKind, phraseTable } from "./phrase-table.ts";

export type { PhraseKind } from "./phrase-table.ts";

/** The text of a server's reply or report, prepared for the search for phrases. */
export interface SaidText {
  /** The text in lower case without accents, mail addresses and URLs, and with one space between words. */
  words: string;
  /** The words without host names: `spam.example.com` is not about spam. */
  wordsAlone: string;
}

export function saidText(text: string): SaidText {
  const words = folded(text.replace(web, wordsOfName).replace(mailAddress, " "));
  return { words, wordsAlone: words.replace(hostName, wordsOfName) };
}

/** The words that replace a URL or host name: none, except for that of a blocklist, because some servers give no other reason. */
function wordsOfName(name: string): string {
  return listOfSenders.test(name) ? " blocklist " : " ";
}

const listOfSenders =
  /(?:^|[./])(?:spamhaus|spamcop|sorbs|barracudacentral|surbl|uribl|abuseat|uceprotect|invaluement|mailspike|spamrats|psbl|senderscore)\.(?:org|com|net)(?![a-z0-9-]|\.[a-z0-9])/i;

const web = /\bhttps?:\/\/[^\s<>"]+/gi;
const mailAddress =
  /<[^\s<>@]{0,320}@[^\s<>@]{0,255}>|(?<![^\s:;,("'[])[^\s<>@:;,()"'[\]]{1,320}@[^\s<>@:;,()"'[\]]{1,255}/g;
const hostName = /(?<![a-z0-9.-])[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){1,20}(?![a-z0-9-])/g;

/** The kinds of phrases that the text contains. */
export function phrasesIn({ words, wordsAlone }: SaidText): ReadonlySet<PhraseKind> {
  const found = new Set<PhraseKind>();
  for (const { kind, parts } of phrases) {
    if (found.has(kind)) continue;
    const text = ofRecipients.has(kind) ? words : wordsAlone;
    if (stands(text, parts)) found.add(kind);
  }
  return found;
}

/** The kinds of phrases that are searched in the text with its host names, because a part of such a phrase may be in a host name. */
const ofRecipients: ReadonlySet<PhraseKind> = new Set(["noUser", "gone", "edge"]);

const mostText = 64 * 1024;

/** The text in lower case without accents, with straight apostrophes and single spaces. */
function folded(text: string): string {
  return (
    text
      .normalize("NFKD")
      // Cuts again, because NFKD may expand one Arabic character to eighteen letters.
      .slice(0, mostText)
      .replace(/\p{Mn}+/gu, "")
      .toLowerCase()
      .replace(/[’‘´`]/g, "'")
      .replace(/[\s"“”„«»]+/g, " ")
      .normalize("NFC")
  );
}

interface Phrase {
  kind: PhraseKind;
  /** One part, or the two parts before and after a gap. */
  parts: readonly string[];
}

const phrases: readonly Phrase[] = Object.entries(phraseTable).flatMap(([kind, table]) =>
  table
    .split(/[,\n]/)
    .filter((written) => written.trim() !== "")
    // Splits at the gap (`…`) before folding, because folding turns `…` into three dots.
    .map((written) => ({ kind: kind as PhraseKind, parts: written.split("…").map((part) => folded(part).trim()) })),
);

/** The most characters in the gap of a phrase: enough for a name and a few words around it. */
const widestGap = 100;

function stands(text: string, [first = "", second]: readonly string[]): boolean {
  if (second === undefined) return indexOfPhrase(text, first, 0) >= 0;
  // Finds the second part first, and then searches the `widestGap` characters before it for the first part. So the time stays linear.
  for (let at = text.indexOf(second); at >= 0; at = text.indexOf(second, at + 1)) {
    if (indexOfPhrase(text.slice(Math.max(0, at - widestGap), at), first, 0) >= 0) return true;
  }
  return false;
}

/** The index of a phrase at the beginning of a word, or anywhere in scripts without spaces. */
function indexOfPhrase(text: string, phrase: string, from: number): number {
  const isSpaced = phrase.charCodeAt(0) < firstUnspaced;
  let at = text.indexOf(phrase, from);
  while (at > 0 && isSpaced && letter.test(text.charAt(at - 1))) at = text.indexOf(phrase, at + 1);
  return at;
}

const letter = /[\p{L}\p{N}]/u;
const firstUnspaced = 0x2e80;
