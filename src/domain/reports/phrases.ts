import { type PhraseKind, phraseTable } from "./phrase-table.ts";

export type { PhraseKind } from "./phrase-table.ts";

/** What a server said in words, made ready to look for phrases in. */
export interface SaidText {
  /** In small letters without accents, one space between words, addresses of people and pages taken out. */
  words: string;
  /** The same without names of hosts: `spam.example.com` says nothing about spam. */
  wordsAlone: string;
}

export function saidText(text: string): SaidText {
  const words = folded(text.replace(web, wordsOfName).replace(mailAddress, " "));
  return { words, wordsAlone: words.replace(hostName, wordsOfName) };
}

/** A name says nothing, but that of a list of bad senders: some servers give its page as their only reason. */
function wordsOfName(name: string): string {
  return listOfSenders.test(name) ? " blocklist " : " ";
}

const listOfSenders =
  /(?:^|[./])(?:spamhaus|spamcop|sorbs|barracudacentral|surbl|uribl|abuseat|uceprotect|invaluement|mailspike|spamrats|psbl|senderscore)\.(?:org|com|net)(?![a-z0-9-]|\.[a-z0-9])/i;

const web = /\bhttps?:\/\/[^\s<>"]+/gi;
const mailAddress =
  /<[^\s<>@]{0,320}@[^\s<>@]{0,255}>|(?<![^\s:;,("'[])[^\s<>@:;,()"'[\]]{1,320}@[^\s<>@:;,()"'[\]]{1,255}/g;
const hostName = /(?<![a-z0-9.-])[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){1,20}(?![a-z0-9-])/g;

/** Which kinds of phrases stand in it. */
export function phrasesIn({ words, wordsAlone }: SaidText): ReadonlySet<PhraseKind> {
  const found = new Set<PhraseKind>();
  for (const { kind, parts } of phrases) {
    if (found.has(kind)) continue;
    const text = ofRecipients.has(kind) ? words : wordsAlone;
    if (stands(text, parts)) found.add(kind);
  }
  return found;
}

/** Kinds whose phrases may begin or end with the name of a host. */
const ofRecipients: ReadonlySet<PhraseKind> = new Set(["noUser", "gone", "edge"]);

const mostText = 64 * 1024;

/** Small letters without accents, straight apostrophes, one space for any white space. */
function folded(text: string): string {
  return (
    text
      .normalize("NFKD")
      // One sign of Arabic may stand for eighteen letters.
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
  /** One, or two with a name between them. */
  parts: readonly string[];
}

const phrases: readonly Phrase[] = Object.entries(phraseTable).flatMap(([kind, table]) =>
  table
    .split(/[,\n]/)
    .filter((written) => written.trim() !== "")
    // Divided first: folding would make three dots of the gap.
    .map((written) => ({ kind: kind as PhraseKind, parts: written.split("…").map((part) => folded(part).trim()) })),
);

/** How much may stand in the gap of a phrase: a name, and the words around it. */
const widestGap = 100;

function stands(text: string, [first = "", second]: readonly string[]): boolean {
  if (second === undefined) return placeOf(text, first, 0) >= 0;
  // From the back, so that each place is looked at once whatever the text is made of.
  for (let at = text.indexOf(second); at >= 0; at = text.indexOf(second, at + 1)) {
    if (placeOf(text.slice(Math.max(0, at - widestGap), at), first, 0) >= 0) return true;
  }
  return false;
}

/** Where a phrase begins that begins a word; in scripts without spaces that may be anywhere. */
function placeOf(text: string, phrase: string, from: number): number {
  const isSpaced = phrase.charCodeAt(0) < firstUnspaced;
  let at = text.indexOf(phrase, from);
  while (at > 0 && isSpaced && letter.test(text.charAt(at - 1))) at = text.indexOf(phrase, at + 1);
  return at;
}

const letter = /[\p{L}\p{N}]/u;
const firstUnspaced = 0x2e80;
