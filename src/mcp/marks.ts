import { withoutInvisible } from "../standards/invisible.ts";
import { oneLine } from "../standards/text.ts";

/** How what outsiders wrote is shown to a model in one call. */
export interface Marks {
  /** A text between marks, from `offset` on and as much as `room` has. */
  text(text: string, room: Room, offset?: number): MarkedText;
}

export interface MarkedText {
  text: string;
  truncated: boolean;
  next_offset?: number;
}

/** How many characters may still be taken: of the text, and of the JSON that it becomes, where a line end is two. */
export interface Room {
  characters: number;
  jsonCharacters: number;
}

/** The most of one text in a result, and of all a result. */
export const mostTextCharacters = 20_000;
export const mostResultCharacters = 60_000;

/**
 * `randomBytes` draws the word of the marks. It is drawn after the text was written, and anew where the text has it, so nobody can
 * write an end mark that ends anything.
 */
export function marksOf(texts: readonly string[], randomBytes: (length: number) => Uint8Array): Marks {
  let word = randomBytes(4).toHex();
  while (texts.some((text) => text.includes(word))) word = randomBytes(4).toHex();
  return {
    text(text, room, offset = 0) {
      const start = startOfCharacter(text, offset);
      const piece = pieceOf(text, room, start);
      const next = start + piece.length;
      const isWhole = next >= text.length;
      room.characters -= piece.length;
      room.jsonCharacters -= jsonLength(piece);
      return {
        text: `[[untrusted email ${word}]]\n${piece}\n[[end ${word}]]`,
        truncated: !isWhole,
        ...(!isWhole && { next_offset: next }),
      };
    },
  };
}

/** An offset in the midst of a character is that of all of it. */
function startOfCharacter(text: string, offset: number): number {
  const isMidst = offset > 0 && (text.codePointAt(offset - 1) ?? 0) > 0xffff;
  return isMidst ? offset - 1 : offset;
}

/** Ends between characters, and within both bounds: halved until it does, since hardly any text needs it. */
function pieceOf(text: string, { characters, jsonCharacters }: Room, offset: number): string {
  const whole = text.slice(offset, offset + Math.max(0, characters));
  let piece = whole.isWellFormed() ? whole : whole.slice(0, -1);
  while (piece.length > 0 && jsonLength(piece) > jsonCharacters) {
    piece = piece.slice(0, piece.length >> 1);
    if (!piece.isWellFormed()) piece = piece.slice(0, -1);
  }
  return piece;
}

/** A stranger's name or subject: one line, at most 200 characters, also as JSON, and with no mark that looks like ours. */
export function short(text: string): string {
  return shortTo(mostShortCharacters, text);
}

function shortTo(most: number, text: string): string {
  const line = withoutInvisible(oneLine(text)).replaceAll(markBegin, "[ [");
  let kept = line.length <= most ? line : `${line.slice(0, most - 1)}…`;
  while (jsonLength(kept) > most + 2) kept = `${kept.slice(0, kept.length - 8)}…`;
  return kept.toWellFormed();
}

const mostShortCharacters = 200;

/** Short strings stand outside the marks, so one that looks like a mark would begin or end what is a stranger's. */
export const markBegin = /\[\[(?=\s?(?:end|untrusted))/gi;

/**
 * The names of one message's files, short and different from each other: what had to be cut keeps its extension, and has a number where
 * another is shown so already.
 */
export function shortNames(names: readonly string[]): string[] {
  const taken = new Set(names.filter((name) => short(name) === name));
  const numbers = new Map<string, number>();
  return names.map((name) => {
    const wanted = shortName(name, "");
    if (wanted === name) return name;
    let shown = wanted;
    let number = numbers.get(wanted) ?? 2;
    while (taken.has(shown)) shown = shortName(name, `-${number++}`);
    numbers.set(wanted, number);
    taken.add(shown);
    return shown;
  });
}

/** A name with `suffix` before its extension, its stem cut so that the whole is short. */
function shortName(name: string, suffix: string): string {
  const whole = short(name);
  if (suffix === "" && whole === shortTo(longestName, name)) return whole;
  const dot = name.lastIndexOf(".");
  const extension = dot > 0 && name.length - dot <= longestExtension ? short(name.slice(dot)) : "";
  const end = suffix + extension;
  const stem = extension === "" ? name : name.slice(0, dot);
  return `${shortTo(mostShortCharacters + 2 - jsonLength(end), stem)}${end}`;
}

const longestName = 2_000;
const longestExtension = 32;

/** Of a text as it stands in JSON, quotes and all. */
export function jsonLength(value: unknown): number {
  return JSON.stringify(value).length;
}
