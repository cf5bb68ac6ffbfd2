import { withoutInvisible } from "../standards/invisible.ts";
import { oneLine } from "../standards/text.ts";

/** Marks the texts of outsiders in the result of one tool call, so that the model knows where they begin and end. */
export interface Marks {
  /** Puts a text between marks, from `offset` on and as far as `room` allows. Reduces `room` by what it shows. */
  text(text: string, room: Room, offset?: number): MarkedText;
}

export interface MarkedText {
  text: string;
  truncated: boolean;
  next_offset?: number;
}

/** The number of characters that may still be shown, counted in the text and in its JSON, where a line end takes two. */
export interface Room {
  characters: number;
  jsonCharacters: number;
}

/** The most characters of one text in a result, and of a whole result. */
export const mostTextCharacters = 20_000;
export const mostResultCharacters = 60_000;

/**
 * Makes the marks for `texts`. A mark contains a random word. It is chosen after the texts were written, and again if
 * one of them contains it, so no text can contain a working end mark.
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

/** Moves an offset inside a surrogate pair to its start. */
function startOfCharacter(text: string, offset: number): number {
  const isInside = offset > 0 && (text.codePointAt(offset - 1) ?? 0) > 0xffff;
  return isInside ? offset - 1 : offset;
}

/**
 * The piece of a text from `offset` on that is within both limits and splits no character. A piece that is too long as
 * JSON, which is rare, is halved until it fits.
 */
function pieceOf(text: string, { characters, jsonCharacters }: Room, offset: number): string {
  const whole = text.slice(offset, offset + Math.max(0, characters));
  let piece = whole.isWellFormed() ? whole : whole.slice(0, -1);
  while (piece.length > 0 && jsonLength(piece) > jsonCharacters) {
    piece = piece.slice(0, piece.length >> 1);
    if (!piece.isWellFormed()) piece = piece.slice(0, -1);
  }
  return piece;
}

/** A stranger's name or subject as one line of at most 200 characters, also as JSON, without anything that looks like our marks. */
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

/** The beginning of a forged mark. Short strings appear outside the marks, so a forged one in them could seem to begin or end a text. */
export const markBegin = /\[\[(?=\s?(?:end|untrusted))/gi;

/** Short, different names for the files of one message. A name that was cut keeps its extension, and gets a number if it is taken. */
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

/** A name with `suffix` before its extension. Its stem is cut as far as needed. */
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

/** The length of a value as JSON. */
export function jsonLength(value: unknown): number {
  return JSON.stringify(value).length;
}

/**
 * Fetches a page that fits into a result. A page that is too large is fetched again with half the items. If it were
 * only cut, its cursor would skip items.
 */
export async function fitting<Made extends object>(
  limit: number,
  ask: (limit: number) => Promise<Made>,
): Promise<Made> {
  for (let fewer = limit; ; fewer = fewer >> 1) {
    const made = await ask(fewer);
    if (fewer <= 1 || jsonLength(made) <= mostResultCharacters) return made;
  }
}
