import { isHostName } from "../../standards/host-name.ts";
import { type FoldedText, foldText } from "../folded-text.ts";
import { type Candidate, candidatesIn } from "./code-candidates.ts";
import { type CodeCues, cuesIn } from "./code-cues.ts";
import { type Rank, rankOf } from "./code-ranks.ts";

/** A one-time code in a mail. */
export interface Code {
  /** The code as people type it, without spaces and hyphens. */
  code: string;
  /** The code as the mail writes it. */
  text: string;
  /** The host of a domain-bound code. */
  domain: string | null;
  source: "subject" | "text" | "html";
}

export interface CodeSources {
  subject: string;
  /** The text without its quotes, since a quoted code is an older one. */
  newText: string;
  /** The visible words of the HTML. */
  htmlText: string | undefined;
}

/**
 * The codes of a mail, the most likely one first. A number counts only if words around it announce a code: an agent that types an order
 * number as a code may lock an account.
 */
export function codesOf({ subject, newText, htmlText }: CodeSources): Code[] {
  const head = sourceOf("subject", subject.slice(0, subjectLength));
  const sources = [head, sourceOf("text", newText), ...(htmlText === undefined ? [] : [sourceOf("html", htmlText)])];
  let cues: CodeCues | undefined;
  const subjectCues = () => {
    cues ??= cuesIn(head.text, undefined);
    return cues;
  };
  const settled = new Set<string>();
  const found = sources.flatMap((source) => {
    const bound = domainBound(source);
    for (const { code } of bound) settled.add(code.code);
    return [...bound, ...ranked(source, source === head ? () => noCues : subjectCues, settled)];
  });
  if (found.length === 0) return [];
  const best = new Map<string, Code>();
  // The sort is stable: codes of the same rank stay in the order of the sources and of their texts.
  for (const { code } of found.toSorted((one, other) => one.rank - other.rank)) {
    if (!best.has(code.code)) best.set(code.code, code);
  }
  return [...best.values()].slice(0, mostCodes);
}

const mostCodes = 5;

/** The number of characters at the beginning of a text (`windowLength`) and of the subject that are searched. */
const windowLength = 64 * 1024;
const subjectLength = 2_000;

interface Source {
  name: Code["source"];
  text: FoldedText;
}

interface Found {
  rank: Rank | 0;
  code: Code;
}

function sourceOf(name: Code["source"], text: string): Source {
  const folded = foldText(text.slice(0, windowLength));
  return { name, text: folded };
}

/** The codes of lines like `@example.com #482913`, which browsers fill in automatically. */
function domainBound({ name, text }: Source): Found[] {
  if (!text.shape.includes(" #")) return [];
  const lines = text.shape.matchAll(/^ ?@([A-Za-z0-9][A-Za-z0-9.-]{0,252}) #([A-Za-z0-9-]{4,16})(?![A-Za-z0-9_-])/gm);
  return Array.from(lines).flatMap((match) => {
    const [, domain = "", code = ""] = match;
    if (!domain.includes(".") || !isHostName(domain)) return [];
    const start = match.index + match[0].length - code.length;
    return [
      {
        rank: 0,
        code: {
          code: code.replaceAll("-", ""),
          text: text.written(start, start + code.length),
          domain: domain.toLowerCase(),
          source: name,
        },
      } as const,
    ];
  });
}

const noCues: CodeCues = { cues: [], names: [], purposes: [], isAbout: () => false };

/** Every code has a digit or three capitals in a row. Most texts have neither. */
const mayHoldCode = /\d|[A-Z]{3}/;

/** Finds the codes of a source. It skips `settled` codes, which have the best rank already: most HTML repeats the text. */
function ranked({ name, text }: Source, subjectCues: () => CodeCues, settled: Set<string>): Found[] {
  if (!mayHoldCode.test(text.shape)) return [];
  const addresses = addressesIn(text.shape);
  const shape = masked(text.shape, addresses);
  const candidates = candidatesIn(shape);
  if (settled.size >= mostCodes || candidates.every(({ code }) => settled.has(code))) return [];
  const words = masked(text.words, addresses);
  const subject = subjectCues();
  const cues = cuesIn({ shape, words }, candidates, subject);
  const found: Found[] = [];
  for (const candidate of candidates) {
    if (settled.has(candidate.code)) continue;
    const rank = rankOf({ shape, words }, candidate, cues, subject);
    if (rank === undefined) continue;
    found.push({ rank, code: codeOf(candidate, name, text) });
    // Five codes of rank 1 fill the list.
    if (rank === 1 && settled.add(candidate.code).size >= mostCodes) break;
  }
  return found;
}

function codeOf({ start, end, code }: Candidate, source: Code["source"], text: FoldedText): Code {
  return { code, text: text.written(start, end), domain: null, source };
}

type Range = readonly [start: number, end: number];

/** The ranges of web and mail addresses, host names, file names and the like. Most numbers that look like codes are in them. */
function addressesIn(shape: string): Range[] {
  const ranges: Range[] = [];
  let done = 0;
  for (const { index } of shape.matchAll(addressSign)) {
    if (index < done) continue;
    let start = index;
    while (start > done && isOfAddress(shape.charCodeAt(start - 1))) start--;
    let end = index + 1;
    while (end < shape.length && isOfAddress(shape.charCodeAt(end))) end++;
    if (!twoWords.test(shape.slice(start, end))) ranges.push([start, end]);
    done = end;
  }
  return ranges;
}

/** Replaces each character in these ranges with `mask`. All other characters keep their offsets. */
function masked(text: string, ranges: readonly Range[]): string {
  if (ranges.length === 0) return text;
  const parts: string[] = [];
  let done = 0;
  for (const [start, end] of ranges) {
    parts.push(text.slice(done, start), mask.repeat(end - start));
    done = end;
  }
  return parts.join("") + text.slice(done);
}

/** Replaces a masked character. It is no letter, digit or space. */
const mask = "\u0001";

/** A scheme, the middle of a mail address, or a dot between lower-case letters as in names of hosts and files. */
const addressSign = /:\/\/|@|(?<=[a-z0-9])\.[a-z]{2}|(?<=[A-Za-z0-9])\/[A-Za-z]|=[A-Za-z0-9]/g;

/** Matches two words with a slash, which look like an address and are none: "PIN/TAN", "BIC/SWIFT". */
const twoWords = /^[A-Za-z]{2,16}\/[A-Za-z]{2,16}[.:]?$/;

/** True for a visible ASCII character that is no bracket or quote. */
function isOfAddress(unit: number): boolean {
  return unit > 0x20 && unit < 0x7f && !aroundAddress.includes(String.fromCharCode(unit));
}

const aroundAddress = "\"<>()[]{}|\\^`',";
