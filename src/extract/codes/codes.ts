import { isHostName } from "../../standards/host-name.ts";
import { type FoldedText, foldText } from "../folded-text.ts";
import { type Candidate, candidatesIn } from "./code-candidates.ts";
import { type CodeCues, cuesIn } from "./code-cues.ts";
import { addressesIn, masked } from "./code-masks.ts";
import { type Rank, rankOf } from "./code-ranks.ts";

/** A one-time code that a mail brings. */
export interface Code {
  /** As one types it. */
  code: string;
  /** As it stands in the mail. */
  text: string;
  /** The host that a domain-bound code is for. */
  domain: string | null;
  source: "subject" | "text" | "html";
}

export interface CodeSources {
  subject: string;
  /** The text without what it quotes: the code of an older mail is not the code. */
  newText: string;
  /** The words that a reader of the HTML sees. */
  htmlText: string | undefined;
}

/**
 * The codes of a mail, the one to type first. A number counts by what is said of it: where a mail does not speak of a code there is none,
 * because who types an order number for a code locks an account.
 */
export function codesOf({ subject, newText, htmlText }: CodeSources): Code[] {
  const head = sourceOf("subject", subject.slice(0, subjectLength));
  const sources = [head, sourceOf("text", newText), ...(htmlText === undefined ? [] : [sourceOf("html", htmlText)])];
  let said: CodeCues | undefined;
  const saidBySubject = () => {
    said ??= cuesIn(head.text, undefined);
    return said;
  };
  const settled = new Set<string>();
  const found = sources.flatMap((source) => {
    const bound = domainBound(source);
    for (const { code } of bound) settled.add(code.code);
    return [...bound, ...ranked(source, source === head ? () => nothingSaid : saidBySubject, settled)];
  });
  if (found.length === 0) return [];
  const best = new Map<string, Code>();
  // Sorting keeps the order of sources and places within a rank.
  for (const { code } of found.toSorted((one, other) => one.rank - other.rank)) {
    if (!best.has(code.code)) best.set(code.code, code);
  }
  return [...best.values()].slice(0, mostCodes);
}

const mostCodes = 5;

/** What is looked at of a text, and of a subject. */
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

/** `@example.com #482913`, the line that browsers fill in by themselves. */
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

const nothingSaid: CodeCues = { cues: [], names: [], purposes: [], isAbout: () => false };

/** Every code has a digit, or capitals in a row. Most texts are done with this look. */
const mayHoldCode = /\d|[A-Z]{3}/;

/** `settled` are codes that nothing can outdo which is found later: the HTML of most mails says again what the text says. */
function ranked({ name, text }: Source, saidBySubject: () => CodeCues, settled: Set<string>): Found[] {
  if (!mayHoldCode.test(text.shape)) return [];
  const addresses = addressesIn(text.shape);
  const shape = masked(text.shape, addresses);
  const candidates = candidatesIn(shape);
  if (settled.size >= mostCodes || candidates.every(({ code }) => settled.has(code))) return [];
  const words = masked(text.words, addresses);
  const subject = saidBySubject();
  const cues = cuesIn({ shape, words }, candidates, subject);
  const found: Found[] = [];
  for (const candidate of candidates) {
    if (settled.has(candidate.code)) continue;
    const rank = rankOf({ shape, words }, candidate, cues, subject);
    if (rank === undefined) continue;
    found.push({ rank, code: codeOf(candidate, name, text) });
    // No later one can be better than so many of the first rank.
    if (rank === 1 && settled.add(candidate.code).size >= mostCodes) break;
  }
  return found;
}

function codeOf({ start, end, code }: Candidate, source: Code["source"], text: FoldedText): Code {
  return { code, text: text.written(start, end), domain: null, source };
}
