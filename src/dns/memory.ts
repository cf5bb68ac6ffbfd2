import type { Answer } from "./answers.ts";

/** Answers for as long as they hold. */
export interface AnswerMemory {
  recall(key: string): Answer | undefined;
  remember(key: string, answer: Answer): void;
}

export interface MemoryLimits {
  mostAnswers: number;
  /** A stranger chooses how long his records are. */
  mostCharacters: number;
}

/**
 * What goes over a limit pushes out what has been here longest. That nobody could say is remembered too, for a moment
 * (RFC 9520): a thousand mails to one dead zone must not ask a thousand times.
 */
export function answerMemory(now: () => Date, limits: MemoryLimits): AnswerMemory {
  const kept = new Map<string, { answer: Answer; untilMs: number; characters: number }>();
  let characters = 0;

  function forget(key: string): void {
    characters -= kept.get(key)?.characters ?? 0;
    kept.delete(key);
  }

  return {
    recall(key) {
      const entry = kept.get(key);
      if (entry === undefined || entry.untilMs > now().getTime()) return entry?.answer;
      forget(key);
      return undefined;
    },
    remember(key, answer) {
      forget(key);
      const entry = {
        answer,
        untilMs: now().getTime() + 1000 * secondsOf(answer),
        characters: charactersOf(key, answer),
      };
      kept.set(key, entry);
      characters += entry.characters;
      for (const oldest of kept.keys()) {
        if (kept.size <= limits.mostAnswers && characters <= limits.mostCharacters) return;
        forget(oldest);
      }
    },
  };
}

const leastSeconds = 5;
const mostSeconds = 3600;
/** Somebody may be waiting for the record that he has just made. */
const mostSecondsOfNothing = 300;

function secondsOf(answer: Answer): number {
  if (answer.kind === "unknown") return leastSeconds;
  const most = answer.kind === "found" ? mostSeconds : mostSecondsOfNothing;
  return Math.min(most, Math.max(leastSeconds, answer.ttlSeconds));
}

function charactersOf(key: string, answer: Answer): number {
  return key.length + (answer.kind === "found" ? JSON.stringify(answer.records).length : 0);
}
