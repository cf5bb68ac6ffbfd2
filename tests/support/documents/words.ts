/**
 * The words of a text for a comparison of readers: ligatures, presentation forms and case are folded, hyphens inside words and at ends of
 * lines are dropped, and a letter of a script without spaces is a word.
 */
export function wordsOf(text: string): string[] {
  const folded = text
    .normalize("NFKC")
    .replaceAll(/\p{Cf}/gu, "")
    .toLowerCase()
    .replaceAll("ß", "ss")
    .replaceAll("ς", "σ");
  return folded.replaceAll(hyphen, "").match(word) ?? [];
}

const hyphen = /(?<=[\p{L}\p{N}_])[-‐‑](?:[ \t]{0,100}\r?\n\s{0,100})?(?=[\p{L}\p{N}_])/gu;
const alone = String.raw`[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff\u{20000}-\u{3ffff}]`;
const letter = "[\\p{L}\\p{N}\\p{M}]";
const word = new RegExp(String.raw`(?=${letter})${alone}|(?:(?!${alone})${letter})+`, "gu");

/** The share of the expected words that were seen, each as often as it is expected. */
export function recall(expected: readonly string[], seen: readonly string[]): number {
  const left = new Map<string, number>();
  for (const each of seen) left.set(each, (left.get(each) ?? 0) + 1);
  let found = 0;
  for (const each of expected) {
    const count = left.get(each) ?? 0;
    if (count > 0) found++;
    left.set(each, count - 1);
  }
  return expected.length === 0 ? 1 : found / expected.length;
}

/** The share of the expected words that were seen in their order: their longest common subsequence, by one bit a word. */
export function inOrder(expected: readonly string[], seen: readonly string[]): number {
  const at = new Map<string, bigint>();
  for (const [index, each] of expected.entries()) at.set(each, (at.get(each) ?? 0n) | (1n << BigInt(index)));
  const all = (1n << BigInt(expected.length)) - 1n;
  let rest = all;
  for (const each of seen) {
    const used = rest & (at.get(each) ?? 0n);
    if (used !== 0n) rest = ((rest + used) | (rest - used)) & all;
  }
  return expected.length === 0 ? 1 : 1 - rest.toString(2).replaceAll("0", "").length / expected.length;
}
