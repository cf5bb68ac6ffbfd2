import type { Answer } from "./answers.ts";

/**
 * A cache of answers. Each is kept for its TTL, but for at least 5 seconds and at most an hour, or at most 5 minutes if it
 * has no records.
 */
export interface AnswerMemory {
  recall(key: string): Answer | undefined;
  remember(key: string, answer: Answer): void;
}

export interface MemoryLimits {
  maxAnswers: number;
  /** The most characters of all keys and records together. It is needed because strangers choose the length of their records. */
  maxCharacters: number;
}

/**
 * Makes an empty cache. Above a limit it drops the oldest eighth of the answers, because dropping them one by one
 * takes longer (see `boundedMemory`). It also keeps failures, for 5 seconds (RFC 9520), so
 * that a thousand mails to one dead zone do not cause a thousand queries.
 */
export function answerMemory(now: () => Date, limits: MemoryLimits): AnswerMemory {
  const kept = new Map<string, { answer: Answer; untilMs: number; characters: number }>();
  let characters = 0;

  function isWithin(answers: number): boolean {
    return answers <= limits.maxAnswers && characters <= limits.maxCharacters;
  }

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
      if (isWithin(kept.size)) return;
      const most = kept.size - (kept.size >> 3);
      for (const oldest of kept.keys()) {
        if (kept.size <= most && isWithin(kept.size)) return;
        forget(oldest);
      }
    },
  };
}

const minSeconds = 5;
const maxSeconds = 3600;
/** The limit for a missing record is lower, because an operator may create the record and wait for the effect. */
const maxSecondsWithoutRecord = 300;

function secondsOf(answer: Answer): number {
  if (answer.kind === "unknown") return minSeconds;
  const max = answer.kind === "found" ? maxSeconds : maxSecondsWithoutRecord;
  return Math.min(max, Math.max(minSeconds, answer.ttlSeconds));
}

function charactersOf(key: string, answer: Answer): number {
  return key.length + (answer.kind === "found" ? JSON.stringify(answer.records).length : 0);
}
