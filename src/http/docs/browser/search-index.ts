export interface Entry {
  title: string;
  /** The title of the section. */
  where: string;
  href: string;
  text: string;
  /** A heavier entry comes first among equal matches. */
  weight: number;
}

/** Finds entries that have all words, the best first. Words in the title count most, and more at its beginning. */
export function find(entries: readonly Entry[], query: string, limit: number): Entry[] {
  const words = query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  if (words.length === 0) return [];
  return entries
    .map((entry) => ({ entry, score: scoreOf(entry, words) }))
    .filter(({ score }) => score > 0)
    .sort((one, other) => other.score - one.score)
    .slice(0, limit)
    .map(({ entry }) => entry);
}

function scoreOf({ title, where, text, weight }: Entry, words: readonly string[]): number {
  const [inTitle, inWhere, inText] = [title.toLowerCase(), where.toLowerCase(), text.toLowerCase()];
  // At least one word must be in the title or the text. Otherwise each field of a matching operation would be found too.
  if (!words.some((word) => inTitle.includes(word) || inText.includes(word))) return 0;
  let score = 0;
  for (const word of words) {
    if (inTitle === word) score += 120;
    else if (inTitle.startsWith(word)) score += 80;
    else if (inTitle.includes(word)) score += 50;
    else if (inWhere.includes(word)) score += 15;
    else if (inText.includes(word)) score += 5;
    else return 0;
  }
  return score + weight;
}

/** The part of a text around the first word of the query. */
export function around(text: string, query: string): string {
  const word = query.trim().split(/\s+/)[0] ?? "";
  const from = Math.max(0, text.toLowerCase().indexOf(word.toLowerCase()) - 40);
  const shown = text.slice(from, from + 130).trim();
  return `${from > 0 ? "… " : ""}${shown}${from + 130 < text.length ? " …" : ""}`;
}
