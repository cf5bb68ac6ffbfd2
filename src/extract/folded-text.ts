/**
 * A text made ready for looking things up, in two spellings of the same length. Digits of any script are ASCII in both, wide letters
 * narrow, every space is a space, every hyphen `-`, and what nobody sees is gone.
 */
export interface FoldedText {
  /** Capitals and accents as they were written. */
  shape: string;
  /** Small letters without accents, as the tables of words are. */
  words: string;
  /** What stood between two places, as it was written. */
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
  const places = new Uint32Array(text.length + 1);
  let length = 0;
  for (let at = 0; at < text.length; ) {
    const point = text.codePointAt(at) ?? 0;
    const unit = point < 0x80 ? point : shapeOf(point);
    if (unit !== nothing) {
      shape[length] = unit;
      places[length++] = at;
    }
    at += point > 0xffff ? 2 : 1;
  }
  places[length] = text.length;
  const units = shape.subarray(0, length);
  return withWords(
    textOf(units),
    () => textOf(units.map((unit) => (unit < 0x80 ? smallAscii(unit) : wordUnitOf(unit)))),
    // What nobody sees behind the last character belongs to the gap.
    (start, end) => text.slice(places[start], end > start ? endOf(text, places[end - 1] ?? 0) : places[start]),
  );
}

/** Most texts hold nothing that their words would have to be looked up for: those are made when first asked for. */
function withWords(shape: string, wordsOf: () => string, written: FoldedText["written"]): FoldedText {
  let words: string | undefined;
  return {
    shape,
    get words() {
      words ??= wordsOf();
      return words;
    },
    written,
  };
}

/** A word of a table as it stands in `words`. */
export function foldWord(word: string): string {
  return foldText(word).words;
}

const isAscii = /^[\0-\x7f]*$/;

/** Stands for a character that is left out: no text that was decoded holds it. */
const nothing = 0xffff;

/** What is neither letter nor digit beyond the first plane, such as a picture. */
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

/** What has been worked out already, by code unit; 0 is not yet. */
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

/** Decimal digits stand ten in a row, from a place that ends in 0 or 6 (styled ones of mathematics apart, which have a plain form). */
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

/** Letters that are written in two ways by habit or keyboard. */
const sameLetters: Readonly<Record<string, string>> = { İ: "i", ı: "i", ي: "ی", ى: "ی", ك: "ک", ة: "ه", "’": "'" };

function newWordUnitOf(unit: number): number {
  const character = String.fromCharCode(unit);
  const same = sameLetters[character];
  if (same !== undefined) return same.charCodeAt(0);
  const small = character.toLowerCase();
  // The Vietnamese word for code differs from other languages' "my" by this accent alone.
  if (small === "ã" || !/^[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\u0622-\u0625]$/u.test(small)) {
    return small.length === 1 ? small.charCodeAt(0) : unit;
  }
  return small.normalize("NFD").charCodeAt(0);
}
