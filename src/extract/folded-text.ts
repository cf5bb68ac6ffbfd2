/**
 * A text prepared for searching, in two spellings of the same length. Both have ASCII digits for those of any script, narrow letters for
 * wide ones, U+0020 for every space, `-` for every hyphen, and no invisible characters.
 */
export interface FoldedText {
  /** The text with its capitals and accents. */
  shape: string;
  /** The text in lower case and without accents, like the tables of words. */
  words: string;
  /** The original text between two offsets. */
  written(start: number, end: number): string;
}

export function foldText(text: string): FoldedText {
  if (isAscii.test(text)) {
    return withWords(
      text,
      () => text.toLowerCase(),
      (start, end) => text.slice(start, end),
    );
  }
  const shape = new Uint16Array(text.length);
  const offsets = new Uint32Array(text.length + 1);
  let length = 0;
  for (let at = 0; at < text.length; ) {
    const point = text.codePointAt(at) ?? 0;
    const unit = point < 0x80 ? point : shapeOf(point);
    if (unit !== nothing) {
      shape[length] = unit;
      offsets[length++] = at;
    }
    at += point > 0xffff ? 2 : 1;
  }
  offsets[length] = text.length;
  const units = shape.subarray(0, length);
  return withWords(
    textOf(units),
    () => textOf(units.map((unit) => (unit < 0x80 ? smallAscii(unit) : wordUnitOf(unit)))),
    // Ends right after the last character, before invisible characters.
    (start, end) => text.slice(offsets[start], end > start ? endOf(text, offsets[end - 1] ?? 0) : offsets[start]),
  );
}

/** Creates `words` on first use, since most texts have no candidate and never need them. */
function withWords(shape: string, makeWords: () => string, written: FoldedText["written"]): FoldedText {
  let words: string | undefined;
  return {
    shape,
    get words() {
      words ??= makeWords();
      return words;
    },
    written,
  };
}

/** Folds a word of a table in the same way as `words`. */
export function foldWord(word: string): string {
  return foldText(word).words;
}

const isAscii = /^[\0-\x7f]*$/;

/** The code unit that marks a character to leave out. It is no character, and decoded text never has it. */
const nothing = 0xffff;

/** Replaces characters beyond the first plane that are no letters or digits, such as emoji. */
const picture = 0xfffc;

function endOf(text: string, at: number): number {
  return at + ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1);
}

function smallAscii(unit: number): number {
  return unit >= 0x41 && unit <= 0x5a ? unit + 0x20 : unit;
}

const decoder = new TextDecoder("utf-16le");

function textOf(units: Uint16Array): string {
  return decoder.decode(units);
}

/** Caches of the folded characters, by code unit. 0 means that the character was not folded yet. */
const knownShapes = new Uint16Array(0x10000);
const knownWordUnits = new Uint16Array(0x10000);

function shapeOf(point: number): number {
  if (point > 0xffff) return newShapeOf(point);
  if (knownShapes[point] === 0) knownShapes[point] = newShapeOf(point);
  return knownShapes[point] ?? nothing;
}

function newShapeOf(point: number): number {
  const character = String.fromCodePoint(point);
  if (/\p{Nd}/u.test(character)) return 0x30 + digitValue(point);
  if (/[\u2028\u2029\x85]/.test(character)) return 0x0a;
  if (/\p{Zs}/u.test(character)) return 0x20;
  if (/[\u2010-\u2013\u2212\uFE63\uFF0D]/.test(character)) return 0x2d;
  if (
    /\p{Default_Ignorable_Code_Point}|\p{Cf}|[\u0300-\u036F\u0591-\u05BD\u05BF-\u05C7\u0640\u064B-\u065F\u0670]/u.test(
      character,
    )
  ) {
    return nothing;
  }
  const plain = character.normalize("NFKC");
  if (/^[A-Za-z@#]$/.test(plain) || point > 0xffff) return plain.length === 1 ? plain.charCodeAt(0) : picture;
  return point;
}

/** Unicode has decimal digits in rows of ten that begin at a code point ending in 0 or 6. Mathematical digits have a plain form instead. */
function digitValue(point: number): number {
  const plain = String.fromCodePoint(point).normalize("NFKC");
  if (/^[0-9]$/.test(plain)) return Number(plain);
  const row = point & ~0xf;
  return /\p{Nd}/u.test(String.fromCodePoint(row)) ? point - row : point - row - 6;
}

function wordUnitOf(unit: number): number {
  if (knownWordUnits[unit] === 0) knownWordUnits[unit] = newWordUnitOf(unit);
  return knownWordUnits[unit] ?? unit;
}

/** Letters that people write in two ways, with the spelling that replaces both. */
const sameLetters: Readonly<Record<string, string>> = { İ: "i", ı: "i", ي: "ی", ى: "ی", ك: "ک", ة: "ه", "’": "'" };

function newWordUnitOf(unit: number): number {
  const character = String.fromCharCode(unit);
  const same = sameLetters[character];
  if (same !== undefined) return same.charCodeAt(0);
  const small = character.toLowerCase();
  // Only this accent distinguishes the Vietnamese word for code, "mã", from "ma", which means "my" in other languages.
  if (small === "ã" || !/^[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\u0622-\u0625]$/u.test(small)) {
    return small.length === 1 ? small.charCodeAt(0) : unit;
  }
  return small.normalize("NFD").charCodeAt(0);
}
