export interface Entry {
  title: string;
  /** The title of the section. */
  where: string;
  href: string;
  text: string;
  /** A heavier entry comes first among equal matches. */
  weight: number;
}

/**
 * Finds entries that have all words, the best first. Words in the title count most, and more at its beginning. If no
 * entry has them all, a word also finds the words that differ from it by one letter.
 */
export function find(entries: readonly Entry[], query: string, limit: number): Entry[] {
  const words = wordsIn(query, /\s+/);
  const exact = best(
    entries,
    words.map((word) => [word]),
    limit,
  );
  if (exact.length > 0 || words.every((word) => word.length < shortestForgiven)) return exact;
  const known = new Set(
    entries.flatMap(({ title, where, text }) => wordsIn(`${title} ${where} ${text}`, /[^\p{L}\p{N}_]+/u)),
  );
  return best(
    entries,
    words.map((word) => [word, ...nearWords(word, known)]),
    limit,
  );
}

/** Shorter words must be right: most of them are one letter away from another word. */
const shortestForgiven = 4;

function wordsIn(text: string, separator: RegExp): string[] {
  return text
    .toLowerCase()
    .split(separator)
    .filter((word) => word !== "");
}

/** The known words that begin with one that differs from `word` by one letter: wrong, missing, added or swapped. */
function nearWords(word: string, known: ReadonlySet<string>): string[] {
  if (word.length < shortestForgiven) return [];
  const lengths = [-1, 0, 1].map((difference) => word.length + difference);
  return [...known].filter((other) => lengths.some((length) => isOneApart(word, other.slice(0, length))));
}

function isOneApart(one: string, other: string): boolean {
  const at = Array.from(one).findIndex((letter, index) => letter !== other[index]);
  if (at === -1) return other.length === one.length + 1;
  const [rest, otherRest] = [one.slice(at), other.slice(at)];
  if (rest.slice(1) === otherRest || rest === otherRest.slice(1) || rest.slice(1) === otherRest.slice(1)) return true;
  return rest[0] === otherRest[1] && rest[1] === otherRest[0] && rest.slice(2) === otherRest.slice(2);
}

/** The best entries that have, for each word of the query, one of its spellings. */
function best(entries: readonly Entry[], words: readonly (readonly string[])[], limit: number): Entry[] {
  if (words.length === 0) return [];
  return entries
    .map((entry) => ({ entry, score: scoreOf(entry, words) }))
    .filter(({ score }) => score > 0)
    .sort((one, other) => other.score - one.score)
    .slice(0, limit)
    .map(({ entry }) => entry);
}

function scoreOf({ title, where, text, weight }: Entry, words: readonly (readonly string[])[]): number {
  const [inTitle, inWhere, inText] = [title.toLowerCase(), where.toLowerCase(), text.toLowerCase()];
  // At least one word must be in the title or the text. Otherwise each field of a matching operation would be found too.
  if (!words.some((spellings) => spellings.some((word) => inTitle.includes(word) || inText.includes(word)))) return 0;
  let score = 0;
  for (const spellings of words) {
    const highest = Math.max(...spellings.map(scoreOfWord));
    if (highest === 0) return 0;
    score += highest;
  }
  return score + weight;

  function scoreOfWord(word: string): number {
    if (inTitle === word) return 120;
    if (inTitle.startsWith(word)) return 80;
    if (inTitle.includes(word)) return 50;
    if (inWhere.includes(word)) return 15;
    return inText.includes(word) ? 5 : 0;
  }
}

/** The part of a text around the first word of the query. */
export function around(text: string, query: string): string {
  const word = query.trim().split(/\s+/)[0] ?? "";
  const from = Math.max(0, text.toLowerCase().indexOf(word.toLowerCase()) - 40);
  const shown = text.slice(from, from + 130).trim();
  return `${from > 0 ? "… " : ""}${shown}${from + 130 < text.length ? " …" : ""}`;
}
