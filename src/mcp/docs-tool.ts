import { Type } from "@sinclair/typebox";
import { argumentsOf, limitArgument } from "./schemas.ts";
import { tool } from "./tool.ts";

export const searchDocs = tool({
  name: "search_docs",
  title: "Search documentation",
  description:
    "Sections of this server's own guides that have the words of a question: how its API, settings, events and limits work. It finds no mail.",
  input: argumentsOf({
    query: Type.String({ minLength: 1, maxLength: 200, description: "A few words, such as webhook retry" }),
    limit: limitArgument(5, 10),
  }),
  output: Type.Object({
    sections: Type.Array(Type.Object({ guide: Type.String(), title: Type.String(), text: Type.String() })),
  }),
  hints: { readOnly: true, idempotent: true },
  async work({ query, limit }, { guides }) {
    return { sections: found(sectionsOf(await guides()), query).slice(0, limit) };
  },
});

interface Section {
  /** The title of its guide. */
  guide: string;
  title: string;
  text: string;
}

/** The most characters of a section in a result. */
const mostCharacters = 3_000;

/** The sections of all guides, which are one text. A line in a block of code is no heading. */
function sectionsOf(guides: string): Section[] {
  const sections: Section[] = [];
  let [guide, isCode] = ["", false];
  for (const line of guides.split("\n")) {
    if (line.startsWith("```")) isCode = !isCode;
    const [, level, title] = (!isCode && /^(#{1,4}) (.+)$/.exec(line)) || [];
    if (title === undefined) {
      const section = sections.at(-1);
      if (section !== undefined) section.text += `${line}\n`;
      continue;
    }
    if (level === "#") guide = title;
    sections.push({ guide, title, text: "" });
  }
  return sections;
}

/** The sections with the most words of the query, and among these those that have them in their titles. */
function found(sections: readonly Section[], query: string): Section[] {
  // Words of one or two letters are in every section. Without its last s a plural also finds the singular.
  const words = new Set(
    (query.toLowerCase().match(/[\p{L}\p{N}_]{3,}/gu) ?? []).map((word) => word.replace(/(?<=...)s$/, "")),
  );
  return sections
    .map((section) => ({ section, score: scoreOf(section, [...words]) }))
    .filter(({ score }) => score > 0)
    .sort((one, other) => other.score - one.score)
    .map(({ section: { guide, title, text } }) => ({ guide, title, text: text.trim().slice(0, mostCharacters) }));
}

function scoreOf({ guide, title, text }: Section, words: readonly string[]): number {
  const [inGuide, inTitle, inText] = [guide, title, text].map((each) => each.toLowerCase()) as [string, string, string];
  return words.reduce((score, word) => {
    const places =
      4 * Number(inTitle.includes(word)) + 2 * Number(inGuide.includes(word)) + Number(inText.includes(word));
    return places === 0 ? score : score + 10 + places;
  }, 0);
}
