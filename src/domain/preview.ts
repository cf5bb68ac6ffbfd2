/** The first words of a message on one line, for lists of threads. */
export function previewOf(bodyText: string, maxCharacters = 200): string {
  const line = bodyText
    .slice(0, maxCharacters * 8)
    .replace(/\s+/g, " ")
    .trim();
  const characters = [...line];
  return characters.length <= maxCharacters
    ? line
    : `${characters
        .slice(0, maxCharacters - 1)
        .join("")
        .trimEnd()}…`;
}
