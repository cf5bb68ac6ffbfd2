import type { Pattern } from "./patterns.ts";

/** Texts that a pattern takes disproportionately long for. */
export interface Weakness {
  before: string;
  run: string;
  end: string;
  /** The repetitions in the shorter text, its time, and the time of the double length. */
  times: number;
  ms: number;
  twiceMs: number | undefined;
}

/**
 * Tries a pattern with texts made from its own parts: a beginning, a long repetition, and an end where the rest may fail.
 * Returns the first text for which the double length takes more than `mostGrowth` times as long.
 */
export function weaknessOf(pattern: Pick<Pattern, "source" | "flags">): Weakness | undefined {
  const expression = new RegExp(pattern.source, pattern.flags);
  for (const attack of attacksOn(pattern)) {
    for (const times of [...shortLengths, longLength]) {
      if (msOf(expression, textOf(attack, times)) < noticeableMs) continue;
      const weakness = measured(expression, attack, times);
      if (weakness !== undefined) return weakness;
    }
  }
  return undefined;
}

const mostGrowth = 2.5;

/** Times below this are noise. */
const noticeableMs = 1;

/** A short text first: exponential and cubic patterns show here, and would not end with a longer one. */
const shortLengths = [24, 100, 1_000];
const longLength = 8_000;

type Attack = Pick<Weakness, "before" | "run" | "end">;

function textOf({ before, run, end }: Attack, times: number): string {
  return before + run.repeat(times) + end;
}

/** Undefined if the time grows linearly or came from other work. */
function measured(expression: RegExp, attack: Attack, times: number): Weakness | undefined {
  const best = (length: number) => Math.min(...[1, 2, 3].map(() => msOf(expression, textOf(attack, length))));
  const ms = best(times);
  if (ms < noticeableMs) return undefined;
  if (times !== longLength) return { ...attack, times, ms, twiceMs: undefined };
  const twiceMs = best(2 * times);
  return twiceMs > mostGrowth * ms ? { ...attack, times, ms, twiceMs } : undefined;
}

/** Processor time of this thread, since other work on the machine does not count. */
function msOf(expression: RegExp, text: string): number {
  expression.lastIndex = 0;
  const before = process.threadCpuUsage();
  if (expression.global) text.replace(expression, "");
  else expression.exec(text);
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}

function* attacksOn({ source, flags }: Pick<Pattern, "source" | "flags">): Generator<Attack> {
  const alternatives = parse(source, flags.includes("v"));
  const seen = new Set<string>();
  const points = samplersOf(source, flags).flatMap((sampler) => [
    ...pointsIn(alternatives, "", "", sampler),
    ...blindPoints(alternatives, sampler),
  ]);
  for (const { before, runs, after } of points) {
    for (const run of runs) {
      for (const end of ends.flatMap((bad) => [bad, after + bad])) {
        const key = JSON.stringify([before, run, end]);
        if (!seen.has(key)) yield { before, run, end };
        seen.add(key);
      }
    }
  }
}

/** Characters of which at least one is unexpected for any pattern; two end a line for `.` and `$`. */
const ends = ["", "\0", "!", " x", "\n\0", "\u2028\0"];

/** Sample characters, and the separators of mail, HTML and headers. */
const alphabet = [..."a1Z ,<>\"'=;:()[]@.-_/\\&?*\t\r\n\f\u00a0\u2028\u2029ü\u{1f600}"];

/** A repetition in a pattern, with the parts before and after it. */
interface Point {
  before: string;
  runs: readonly string[];
  after: string;
}

/** An atom of a pattern and its repetitions. */
interface Piece {
  atom: string;
  /** The alternatives of a group. */
  group: Piece[][] | undefined;
  min: number;
  max: number;
}

interface Sampler {
  /** Characters that this atom matches; none for an assertion. */
  characters(atom: string): readonly string[];
  /** A text that these atoms match, each with at least these repetitions. */
  text(pieces: readonly Piece[], atLeast?: number): string;
}

/** Variants by the chosen characters and by the presence of optional parts. */
function samplersOf(source: string, flags: string): Sampler[] {
  const known = new Map<string, string[]>();
  const candidates = [...new Set([...alphabet, ...source.replace(/\\[a-z]|[[\](){}^$*+?|\\]/gi, "")])];

  function characters(atom: string): readonly string[] {
    let matching = known.get(atom);
    if (matching === undefined) {
      const whole = new RegExp(`^(?:${atom})$`, flags.replace(/[gy]/g, ""));
      matching = candidates.filter((character) => whole.test(character));
      known.set(atom, matching);
    }
    return matching;
  }

  function sampler(choose: (characters: readonly string[]) => string | undefined, usual: number): Sampler {
    function text(pieces: readonly Piece[], atLeast = usual): string {
      return pieces.map((piece) => one(piece).repeat(Math.max(piece.min, Math.min(piece.max, atLeast)))).join("");
    }
    function one({ atom, group }: Piece): string {
      return group === undefined ? (choose(characters(atom)) ?? "") : text(group[0] ?? []);
    }
    return { characters, text };
  }

  return [0, 1].flatMap((usual) => [
    sampler((all) => all[0], usual),
    sampler((all) => all.find((character) => character === " ") ?? all[0], usual),
    sampler((all) => all.at(-1), usual),
  ]);
}

/** Every repetition without a small limit, also within groups. */
function pointsIn(alternatives: readonly Piece[][], before: string, after: string, sampler: Sampler): Point[] {
  return alternatives.flatMap((pieces) =>
    pieces.flatMap((piece, index) => {
      const lead = before + sampler.text(pieces.slice(0, index));
      const rest =
        sampler.text(pieces.slice(index + 1).map((next) => ({ ...next, min: Math.max(next.min, 1) }))) + after;
      const inner = piece.group === undefined ? [] : pointsIn(piece.group, lead, rest, sampler);
      if (piece.max < 50) return inner;
      const runs =
        piece.group === undefined
          ? sampler.characters(piece.atom).slice(0, 12)
          : piece.group.map((one) => sampler.text(one, 1));
      return [{ before: lead, runs: runs.filter((run) => run !== ""), after: rest }, ...inner];
    }),
  );
}

/** Runs of any character, alone and after a match. */
function blindPoints(alternatives: readonly Piece[][], sampler: Sampler): Point[] {
  const whole = sampler.text(alternatives[0] ?? []);
  return ["", whole].map((before) => ({ before, runs: alphabet, after: "" }));
}

/** The alternatives of a pattern: their atoms and repetitions. */
function parse(source: string, hasNestedClasses: boolean): Piece[][] {
  let at = 0;

  function alternatives(): Piece[][] {
    const all: Piece[][] = [[]];
    while (at < source.length && source[at] !== ")") {
      if (source[at] === "|") {
        at++;
        all.push([]);
      } else {
        all.at(-1)?.push(piece());
      }
    }
    return all;
  }

  function piece(): Piece {
    const start = at;
    let group: Piece[][] | undefined;
    if (source[at] === "(") {
      const [opening = "("] = /^\((?:\?(?:[:=!]|<[=!]|<\w+>))?/.exec(source.slice(at)) ?? [];
      at += opening.length;
      const inside = alternatives();
      at++;
      // Look-around has no width.
      group = /[=!]$/.test(opening) ? [[]] : inside;
    } else if (source[at] === "[") {
      at = endOfClass(at);
    } else {
      at += simple.exec(source.slice(at))?.[0].length ?? 1;
    }
    const atom = source.slice(start, at);
    const [quantifier = ""] = /^(?:[*+?]|\{\d+(?:,\d*)?\})\??/.exec(source.slice(at)) ?? [];
    at += quantifier.length;
    return { atom, group, ...timesOf(quantifier) };
  }

  /** A class may contain others only with the flag `v`. */
  function endOfClass(from: number): number {
    let end = from + 1;
    while (end < source.length && source[end] !== "]") {
      if (source[end] === "[" && hasNestedClasses) end = endOfClass(end);
      else end += simple.exec(source.slice(end))?.[0].length ?? 1;
    }
    return end + 1;
  }

  return alternatives();
}

/** A character, plain or escaped. */
const simple = /^(?:\\(?:u\{\w+\}|u\w{4}|x\w\w|[pP]\{[^}]*\}|k<\w+>|[\s\S])|[\s\S])/u;

function timesOf(quantifier: string): Pick<Piece, "min" | "max"> {
  if (quantifier === "") return { min: 1, max: 1 };
  if (quantifier[0] === "?") return { min: 0, max: 1 };
  if (quantifier[0] === "*") return { min: 0, max: Number.POSITIVE_INFINITY };
  if (quantifier[0] === "+") return { min: 1, max: Number.POSITIVE_INFINITY };
  const [, min = "0", comma, max] = /\{(\d+)(,?)(\d*)/.exec(quantifier) ?? [];
  const most = comma === "" ? Number(min) : Number.POSITIVE_INFINITY;
  return { min: Number(min), max: max ? Number(max) : most };
}
