import { boundedMemory } from "../../primitives/memory.ts";
import type { NotedAnswer, Questions } from "./questions.ts";

/** The findings of one check about the last mails. */
export interface FindingMemory<Found> {
  /**
   * Returns the finding for a key, which names everything that the check depends on besides the DNS. A finding is made again as soon as the
   * memory of the DNS client has lost or changed one of its answers, so it never outlives a record.
   */
  find(key: string, questions: Questions, make: (questions: Questions) => Promise<Found>): Promise<Found>;
}

/** Makes a memory of findings. It keeps none with a failed question, because other checks depend on whether a question has failed. */
export function findingMemory<Found>(
  canKeep: (answers: readonly NotedAnswer[]) => boolean = () => true,
): FindingMemory<Found> {
  const kept = boundedMemory<string, { found: Found; answers: readonly NotedAnswer[] }>(mostKept);
  return {
    async find(key, questions, make) {
      const known = kept.get(key);
      if (known !== undefined && questions.areCurrent(known.answers)) return known.found;
      const { noted, answers } = questions.noting();
      const found = await make(noted);
      if (answers.every(isCertain) && charactersOf(key, answers) <= mostCharacters && canKeep(answers)) {
        kept.set(key, { found, answers });
      }
      return found;
    },
  };
}

const mostKept = 2000;
/** The most characters of the key and the records of one finding, because strangers choose their length. */
const mostCharacters = 4000;

function isCertain({ answer }: NotedAnswer): boolean {
  return answer !== "too many" && answer.kind !== "unknown";
}

function charactersOf(key: string, answers: readonly NotedAnswer[]): number {
  return answers.reduce((sum, { name, answer }) => sum + name.length + lengthOf(answer), key.length);
}

function lengthOf(answer: NotedAnswer["answer"]): number {
  if (answer === "too many" || answer.kind !== "found") return 0;
  return answer.records.reduce((sum, each) => sum + (typeof each === "string" ? each : each.exchange).length, 0);
}
