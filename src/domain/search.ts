import { sha256Hex } from "../standards/digest.ts";
import { truncateCodePoints, truncateUtf8, utf8Length } from "../standards/text.ts";
import type { Plan } from "./limits.ts";

/**
 * Converts a text or a query to plain words for the index. Mail can be in any language, so stems and stop words are not used. Postgres gets
 * only plain words, because the result of its own parser depends on the locale of the database.
 */
export function plainWords(text: string): string {
  const folded = isAscii(text) ? text : withoutAccents(text);
  const spaced = folded.toLowerCase().replace(betweenWords, " ");
  const separated = isAscii(spaced) ? spaced : spaced.replace(unspacedLetter, " $& ");
  return separated.replace(longWord, (word) => truncateCodePoints(word, longestWord)).trim();
}

/** The text without accents and compatible letter forms such as full-width ones: `jürgen@müller.de` matches `JURGEN@muller.de`. */
function withoutAccents(text: string): string {
  return text.normalize("NFKD").replace(accents, "").normalize("NFC");
}

/** The accents of Latin, Greek and Cyrillic. The marks of other scripts act as letters. */
const accents = /[\u0300-\u036f]/g;
const betweenWords = /[^\p{L}\p{M}\p{N}]+/gu;
/**
 * Letters of scripts without spaces between words. Each letter is indexed as a word of its own, and a query of several letters as a phrase.
 */
const unspacedLetter =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]\p{M}*/gu;
const longestWord = 64;
const longWord = /\S{65,}/g;

function isAscii(text: string): boolean {
  return !/[^\0-\x7f]/.test(text);
}

/**
 * Converts a query to plain words, in the syntax of Postgres' `websearch_to_tsquery` (words, "a phrase", or, -not). `undefined` if no word
 * is left. A term that becomes several words, such as an address, becomes a phrase.
 */
export function plainQuestion(question: string): string | undefined {
  const terms: string[] = [];
  for (const [, sign = "", phrase, bare = ""] of question.matchAll(/(-?)(?:"([^"]*)"?|([^\s"]+))/g)) {
    const words = plainWords(phrase ?? bare);
    if (words === "") continue;
    const isSingle = phrase === undefined && !words.includes(" ");
    terms.push(isSingle ? sign + words : `${sign}"${words}"`);
  }
  // `or` alone is no query.
  return terms.some((term) => term !== "or") ? terms.join(" ") : undefined;
}

/**
 * The choices of the words of a message to index, from most to fewest: all, those of its subject and addresses, or none. Statements compare
 * them as texts, and their order in the alphabet is the same.
 */
export const searchWords = ["all", "head", "off"] as const;
export type SearchWords = (typeof searchWords)[number];
export type PlanSearchWords = Readonly<Record<Plan, SearchWords>>;

/** The searchable parts of a message. */
export interface Searchable {
  accountId: string;
  inboxId: string;
  seq: number;
  messageId: string;
  /** The instant of the message, in milliseconds. */
  atMs: number;
  threadId: string;
  direction: "inbound" | "outbound";
  fromAddr: string;
  fromName: string | null;
  toAddr: string;
  cc: readonly string[];
  subject: string;
  bodyText: string;
  attachmentCount: number;
  /** Which words are indexed. With `head` and `off`, `bodyText` is not read. */
  indexed: SearchWords;
}

/**
 * The limits on the indexed text of a message. Each distinct word is one write to the index. In scripts where each letter is a word, a body
 * of this length takes 50 ms, and one five times as long took half a second.
 */
export const searchedCharacters = 20_000;
export const searchedAddresses = 1_000;
const searchedBytes = { body: 100_000, addresses: 20_000, subject: 5_000 };

export interface SearchRow {
  inboxId: string;
  seq: number;
  messageId: string;
  threadId: string;
  atMs: number;
  indexed: SearchWords;
  subject: string;
  sender: string;
  recipients: string;
  body: string;
  marks: string[];
}

export function searchRow(message: Searchable): SearchRow {
  const { accountId, inboxId, seq, messageId, threadId, atMs, indexed } = message;
  const { fromAddr, fromName, toAddr, cc, subject, bodyText } = message;
  // Each character has at least one octet, so only the first `bytes` characters of a text can fit. Cutting there first saves time.
  const plain = (text: string, bytes: number) => truncateUtf8(plainWords(text.slice(0, bytes)), bytes);
  const inHead = (text: string, bytes: number) => (indexed === "off" ? "" : plain(text, bytes));
  const scopes: [SearchScope, number][] = [
    [{ kind: "inbox", id: inboxId }, seq],
    [{ kind: "account", id: accountId }, atMs],
  ];
  const marks = scopes.flatMap(([scope, number]) => [
    scopeMark(scope),
    blockMark(scope, "near", blockOf(scope, "near", number)),
    blockMark(scope, "wide", blockOf(scope, "wide", number)),
  ]);
  marks.push(threadMark(threadId), directionMark(message.direction));
  return {
    inboxId,
    seq,
    messageId,
    threadId,
    atMs,
    indexed,
    subject: inHead(subject, searchedBytes.subject),
    sender: inHead(`${fromAddr} ${fromName ?? ""}`, searchedBytes.addresses),
    recipients: inHead([toAddr, ...cc].join(" "), searchedBytes.addresses),
    body: indexed === "all" ? plain(bodyText.slice(0, searchedCharacters), searchedBytes.body) : "",
    marks: message.attachmentCount > 0 ? [...marks, attachmentMark] : marks,
  };
}

/** The number of octets in the words of a row. The time to write the row depends on it. */
export function wordBytes({ subject, sender, recipients, body }: SearchRow): number {
  return utf8Length(subject) + utf8Length(sender) + utf8Length(recipients) + utf8Length(body);
}

/** The row without its body, for a message whose text cannot be indexed. It is found by its subject and addresses. */
export function withoutBody(row: SearchRow): SearchRow {
  return { ...row, indexed: row.indexed === "all" ? "head" : row.indexed, body: "" };
}

/** Where a search looks. The messages of an inbox have numbers without gaps; those of an account are numbered by their milliseconds. */
export interface SearchScope {
  kind: "inbox" | "account";
  id: string;
}

/*
 * Marks are words in the index for the account, the inbox, the thread and properties of a message. They begin with a slash, which no plain
 * word has. Marks are short, so two inboxes may have the same one by chance; therefore a search also compares the inbox of the rows that it
 * finds.
 */
export function scopeMark({ kind, id }: SearchScope): string {
  return `/${kind === "account" ? "a" : ""}${shortMark(id)}`;
}

/** A block is a range of consecutive numbers of a scope. By its mark, a search reads only the newest messages. */
export type BlockSize = "near" | "wide";

const halfDayMs = 43_200_000;
const blockSizes = {
  inbox: { near: 512, wide: 8_192 },
  account: { near: halfDayMs, wide: 32 * halfDayMs },
};

export function blockSize({ kind }: SearchScope, size: BlockSize): number {
  return blockSizes[kind][size];
}

export function blockOf(scope: SearchScope, size: BlockSize, number: number): number {
  return Math.floor(number / blockSize(scope, size));
}

/** The first number of a block. */
export function startOfBlock(scope: SearchScope, size: BlockSize, block: number): number {
  return block * blockSize(scope, size);
}

export function blockMark(scope: SearchScope, size: BlockSize, block: number): string {
  return `${scopeMark(scope)}/${size === "near" ? "" : "w"}${block}`;
}

export function threadMark(threadId: string): string {
  return `/t${shortMark(threadId)}`;
}

export function directionMark(direction: "inbound" | "outbound"): string {
  return direction === "inbound" ? "/in" : "/out";
}

export const attachmentMark = "/files";

function shortMark(id: string): string {
  return sha256Hex(id).slice(0, markCharacters);
}

export const markCharacters = 12;
