import { numberWords } from "../words.ts";

const longest = 100_000;

/** How much is written of what a mail may have, as the service counts it. It refuses what is too long; nothing is cut here. */
export function BodyCount({ body }: { body: string }) {
  return (
    <span class="reply-count">{body !== "" && `${numberWords(codePointsOf(body))} / ${numberWords(longest)}`}</span>
  );
}

function codePointsOf(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
