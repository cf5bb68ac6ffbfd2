import { type LetterDeps, writeLetters } from "../flows/send/write-letters.ts";
import { type EachSecond, eachSecond } from "./each-second.ts";

/** Writes letters about mail that begins to wait for approval. Looks once a second, so a kill loses none. */
export function startLetters(deps: LetterDeps): EachSecond {
  return eachSecond(deps, "cannot write letters: trying again", async (isStopping) => {
    while (!isStopping() && (await writeLetters(deps)));
  });
}
