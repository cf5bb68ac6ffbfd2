/** The results of a search: their pages, and the hits in a text. */

import type { Schemas } from "../api.ts";

/** The words that a search looked at, if some that it asks for are not indexed of all messages. */
export type Searched = Schemas["MessagePage"]["searched"];

interface Found<Row> {
  data: Row[];
  total: number;
  searched?: Searched;
}

interface Page<Row> extends Found<Row> {
  nextCursor: string | null;
}

/** Says which words a search could not look at. */
export function SearchedNote({ searched }: { searched: Searched }) {
  if (searched === undefined) return null;
  return (
    <p class="searched-note quiet-text" role="status">
      {searched === "head"
        ? "Some of this mail is found by its subject and addresses alone, not by its text."
        : "Some of this mail is not found by any of its words."}
    </p>
  );
}

/** Loads the rows of any range of a list that goes on by cursors alone. It keeps the cursors, and runs one load at a time. */
export function byOffset<Row>(load: (page: { limit: number; cursor?: string }) => Promise<Page<Row>>) {
  const cursors = new Map<number, string | undefined>([[0, undefined]]);
  let before: Promise<unknown> = Promise.resolve();

  async function range(offset: number, limit: number): Promise<Found<Row>> {
    const end = offset + limit;
    const rows: Row[] = [];
    let at = Math.max(...[...cursors.keys()].filter((known) => known <= offset));
    for (;;) {
      const cursor = cursors.get(at);
      const most = Math.min(mostRows, (at < offset ? offset : end) - at);
      const { data, nextCursor, ...others } = await load({ limit: most, ...(cursor !== undefined && { cursor }) });
      if (at >= offset) rows.push(...data);
      at += data.length;
      if (nextCursor !== null) cursors.set(at, nextCursor);
      if (nextCursor === null || at >= end) return { ...others, data: rows };
    }
  }

  return ({ offset, limit }: { offset: number; limit: number }) => {
    const loading = before.then(() => range(offset, limit));
    before = loading.catch(() => undefined);
    return loading;
  };
}

const mostRows = 100;

/** Patterns of the words of a search, for each part of a row. Undefined if no word is searched there. */
export interface Hits {
  who: RegExp | undefined;
  subject: RegExp | undefined;
  text: RegExp | undefined;
}

/** The words of a search that is written as for the API's `q`. */
export function hitsOf(search: string): Hits {
  const patterns: { field: string; pattern: string }[] = [];
  for (const [, sign, name = "", phrase, bare = ""] of search.slice(0, longestSearch).matchAll(termShape)) {
    const field = name.toLowerCase();
    const isWord = sign === "" && ["", "from", "to", "subject"].includes(field);
    if (!isWord || (field === "" && /^or$/i.test(bare))) continue;
    const words = plain(phrase ?? bare).match(/[\p{L}\p{N}]+/gu) ?? [];
    if (words.length > 0) patterns.push({ field, pattern: patternOf(words) });
  }
  const of = (...fields: string[]) => {
    const own = patterns.flatMap(({ field, pattern }) => (fields.includes(field) ? [pattern] : []));
    return own.length === 0 ? undefined : new RegExp(`(${own.join("|")})`, "giu");
  };
  return { who: of("", "from", "to"), subject: of("", "subject"), text: of("") };
}

const longestSearch = 500;
const termShape = /(-?)(?:(from|to|subject|has|is|before|after):(?=\S))?(?:"([^"]*)"?|([^\s"]+))/gi;

/** A pattern of words behind each other. Letters of scripts with spaces must be whole words, with or without accents, as for the service. */
function patternOf(words: readonly string[]): string {
  const all = words.map((word) => [...word].join("\\p{M}{0,3}")).join("\\p{M}{0,3}[^\\p{L}\\p{N}]{1,9}");
  const isUnspaced = words.some((word) => /\p{Lo}/u.test(word));
  return isUnspaced ? all : `(?<![\\p{L}\\p{N}])${all}\\p{M}{0,3}(?![\\p{L}\\p{N}\\p{M}])`;
}

/** The text without accents. */
function plain(text: string): string {
  return text.normalize("NFKD").replace(/\p{M}/gu, "");
}

/** A text with its hits marked. */
export function Marked({ text, hits }: { text: string; hits: RegExp | undefined }) {
  if (hits === undefined) return <>{text}</>;
  const pieces = text.normalize("NFD").split(hits);
  // Every second piece is what the one group of the pattern matched.
  return (
    <>{pieces.map((piece, index) => (index % 2 === 1 ? <mark key={`${index} ${piece}`}>{piece}</mark> : piece))}</>
  );
}

/** The beginning of a text, or the piece of it with the first hit. */
export function excerptOf(text: string, hits: RegExp | undefined): string {
  const searched = text.slice(0, searchedCharacters).normalize("NFD");
  const at = hits === undefined ? -1 : searched.search(hits);
  return at < farHit ? text.slice(0, excerpt) : `…${searched.slice(at - 20, at + excerpt)}`;
}

/** As many characters of a text are searched by the service. */
const searchedCharacters = 20_000;
const excerpt = 200;
const farHit = 40;
