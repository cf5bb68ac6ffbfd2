import { truncateCodePoints } from "../standards/text.ts";

/** The first words of a message on one line, for lists of threads. */
export function previewOf(bodyText: string, maxCharacters = 200): string {
  // Tries the first 600 characters, which are enough for most texts. A text with many blank lines may need more.
  const few = onOneLine(bodyText, maxCharacters * 3);
  const isEnough = few.length > maxCharacters * 2 || bodyText.length <= maxCharacters * 3;
  const line = isEnough ? few : onOneLine(bodyText, maxCharacters * 20);
  if (truncateCodePoints(line, maxCharacters) === line) return line;
  return `${truncateCodePoints(line, maxCharacters - 1).trimEnd()}…`;
}

function onOneLine(text: string, length: number): string {
  const cut = text.slice(0, length);
  // The cut may leave half a surrogate pair, which Postgres refuses.
  const whole = cut.isWellFormed() ? cut : cut.slice(0, -1);
  // Single spaces, which are the most frequent white space, need no replacement.
  return whole.replace(/\s\s+|[^\S ]/g, " ").trim();
}
