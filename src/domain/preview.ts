import { truncateCodePoints } from "../standards/text.ts";

/** The first words of a message on one line, for lists of threads. */
export function previewOf(bodyText: string, maxCharacters = 200): string {
  // Most texts have enough to show in their first characters; one of blank lines may need more.
  const few = onOneLine(bodyText, maxCharacters * 3);
  const isEnough = few.length > maxCharacters * 2 || bodyText.length <= maxCharacters * 3;
  const line = isEnough ? few : onOneLine(bodyText, maxCharacters * 20);
  if (truncateCodePoints(line, maxCharacters) === line) return line;
  return `${truncateCodePoints(line, maxCharacters - 1).trimEnd()}…`;
}

function onOneLine(text: string, length: number): string {
  const cut = text.slice(0, length);
  // A character cut in two leaves half a pair of surrogates, which no database takes.
  const whole = cut.isWellFormed() ? cut : cut.slice(0, -1);
  // A single space, which is nearly all of them, is right already.
  return whole.replace(/\s\s+|[^\S ]/g, " ").trim();
}
