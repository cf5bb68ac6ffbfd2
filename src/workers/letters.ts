import { type LetterDeps, writeLetters } from "../flows/send/write-letters.ts";
import { type Rounds, startRounds } from "./rounds.ts";

/** Writes letters about mail that begins to wait for approval. Looks once a second, so a kill loses none. */
export function startLetters(deps: LetterDeps): Rounds {
  return startRounds({
    pauseMs: 1_000,
    async round(stopping) {
      while (!stopping.aborted && (await writeLetters(deps)));
    },
    failed: (err) => deps.log.warn({ err }, "cannot write letters: trying again"),
  });
}
