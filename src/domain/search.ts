import { sha256Hex } from "../standards/digest.ts";
import { truncateCodePoints, truncateUtf8, utf8Length } from "../standards/text.ts";

/**
 * Mail comes in any language, often in several at once, so nothing here knows one: no stems, no stop words. Text and
 * question are brought to the same plain words before Postgres sees them, and then its parser, whose idea of a letter
 * depends on the locale of the database, has nothing left to decide.
 */
export function plainWords(text: string): string {
  const folded = isAscii(text) ? text : withoutAccents(text);
  const spaced = folded.toLowerCase().replace(betweenWords, " ");
  const separated = isAscii(spaced) ? spaced : spaced.replace(unspacedLetter, " $& ");
  return separated.replace(longWord, (word) => truncateCodePoints(word, longestWord)).trim();
}

/** `jürgen@müller.de` and `JURGEN@muller.de` are one; full-width and other compatible forms of a letter too. */
function withoutAccents(text: string): string {
  return text.normalize("NFKD").replace(accents, "").normalize("NFC");
}

/** The accents of Latin, Greek and Cyrillic; marks of other scripts are letters in all but name. */
const accents = /[\u0300-\u036f]/g;
const betweenWords = /[^\p{L}\p{M}\p{N}]+/gu;
/** Letters of scripts that put no space between words: each is a word, and a word is a phrase of them. */
const unspacedLetter =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]\p{M}*/gu;
const longestWord = 64;
const longWord = /\S{65,}/g;

function isAscii(text: string): boolean {
  return !/[^\0-\x7f]/.test(text);
}

/**
 * A question in the syntax of Postgres' `websearch_to_tsquery` (words, "a phrase", or, -not), its words made plain.
 * `undefined` when it has none. What is more than one word after that, such as an address, is a phrase.
 */
export function plainQuestion(question: string): string | undefined {
  const terms: string[] = [];
  for (const [, sign = "", phrase, bare = ""] of question.matchAll(/(-?)(?:"([^"]*)"?|([^\s"]+))/g)) {
    const words = plainWords(phrase ?? bare);
    if (words === "") continue;
    const isSingle = phrase === undefined && !words.includes(" ");
    terms.push(isSingle ? sign + words : `${sign}"${words}"`);
  }
  // `or` alone joins nothing.
  return terms.some((term) => term !== "or") ? terms.join(" ") : undefined;
}

/** What can be searched for in a message. */
export interface Searchable {
  inboxId: string;
  seq: number;
  threadId: string;
  direction: "inbound" | "outbound";
  fromAddr: string;
  fromName: string | null;
  toAddr: string;
  cc: readonly string[];
  subject: string;
  bodyText: string;
  attachmentCount: number;
}

/**
 * How much of a text is read. Each different word is a place in the index that is written to, so the time goes by these bounds: where
 * each letter is a word, a body of this length takes a twentieth of a second, one of five times as many took half a second.
 */
export const searchedCharacters = 20_000;
export const searchedAddresses = 1_000;
const searchedBytes = { body: 100_000, addresses: 20_000, subject: 5_000 };

export interface SearchRow {
  inboxId: string;
  seq: number;
  subject: string;
  sender: string;
  recipients: string;
  body: string;
  marks: string[];
}

export function searchRow(message: Searchable): SearchRow {
  const { inboxId, seq, threadId, fromAddr, fromName, toAddr, cc, subject, bodyText } = message;
  // A text has no more letters than octets: what lies behind so many has no room in any case.
  const plain = (text: string, bytes: number) => truncateUtf8(plainWords(text.slice(0, bytes)), bytes);
  const blocks = (["near", "wide"] as const).map((size) => blockMark(inboxId, size, blockOf(size, seq)));
  const marks = [inboxMark(inboxId), ...blocks, threadMark(threadId), directionMark(message.direction)];
  return {
    inboxId,
    seq,
    subject: plain(subject, searchedBytes.subject),
    sender: plain(`${fromAddr} ${fromName ?? ""}`, searchedBytes.addresses),
    recipients: plain([toAddr, ...cc].join(" "), searchedBytes.addresses),
    body: plain(bodyText.slice(0, searchedCharacters), searchedBytes.body),
    marks: message.attachmentCount > 0 ? [...marks, attachmentMark] : marks,
  };
}

/** The octets of words in it, by which it is known how long it takes to write. */
export function wordBytes({ subject, sender, recipients, body }: SearchRow): number {
  return utf8Length(subject) + utf8Length(sender) + utf8Length(recipients) + utf8Length(body);
}

/** A message whose text can't be written into the index is found by its subject and its addresses. */
export function withoutBody(row: SearchRow): SearchRow {
  return { ...row, body: "" };
}

/*
 * Marks are lexemes that say where a message lies and what it is. Plain words have no slash, so none can be one.
 * They are short, and two inboxes may by chance share one: the rows that are found are held against the inbox itself.
 */
export function inboxMark(inboxId: string): string {
  return `/${shortMark(inboxId)}`;
}

/** Messages of a block lie together in time: a search among the newest needs to look at no others. */
export const blockSizes = { near: 8_192, wide: 65_536 } as const;
export type BlockSize = keyof typeof blockSizes;

export function blockOf(size: BlockSize, seq: number): number {
  return Math.floor(seq / blockSizes[size]);
}

export function blockMark(inboxId: string, size: BlockSize, block: number): string {
  return `${inboxMark(inboxId)}/${size === "near" ? "" : "w"}${block}`;
}

export function threadMark(threadId: string): string {
  return `/t${shortMark(threadId)}`;
}

export function directionMark(direction: "inbound" | "outbound"): string {
  return direction === "inbound" ? "/in" : "/out";
}

export const attachmentMark = "/files";

function shortMark(id: string): string {
  return sha256Hex(id).slice(0, 12);
}
