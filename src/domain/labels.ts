import { codePointLength } from "../standards/text.ts";
import { Refusal } from "./errors.ts";

/** The most labels of a thread. */
export const mostLabels = 20;

/** The most different labels of an inbox. */
export const mostLabelsOfInbox = 1_000;

/** The rule in words. */
export const labelRule =
  "must be 1 to 64 characters on one line, without commas, control characters and direction marks";

/** A label as it is stored: trimmed, in lower case and in the normal form NFC. Undefined if the text cannot be a label. */
export function labelOf(text: string): string | undefined {
  if (text.length > longestText) return undefined;
  const label = text.normalize("NFC").trim().toLowerCase().normalize("NFC");
  return label === "" || codePointLength(label) > longestLabel || refused.test(label) ? undefined : label;
}

/** The labels of these texts, each once. Texts that cannot be labels are left out. */
export function labelsOf(texts: readonly string[]): string[] {
  return [...new Set(texts.flatMap((text) => labelOf(text) ?? []))];
}

/** The labels of a thread after a change, in order. */
export function labelsAfter(before: readonly string[], added: readonly string[], removed: readonly string[] = []) {
  const labels = new Set([...before, ...added]).difference(new Set(removed));
  return [...labels].sort();
}

/** Refuses more labels than a thread may have. `doing` completes "Cannot …". */
export function refuseLabelsOver(labels: readonly string[], pointer: string, doing: string): void {
  if (labels.length <= mostLabels) return;
  const detail = `must leave the thread with at most ${mostLabels} labels`;
  throw new Refusal("validation_error", `Cannot ${doing}: "${pointer.slice(2)}" ${detail}`, {
    faults: [{ pointer, detail }],
  });
}

/** Refuses new labels for an inbox that would have too many different ones. Returns the labels that it has then. */
export function labelsOfInboxAfter(
  before: ReadonlySet<string>,
  added: readonly string[],
  doing: string,
): ReadonlySet<string> {
  const after = before.union(new Set(added));
  if (after.size <= mostLabelsOfInbox || after.size === before.size) return after;
  throw new Refusal("label_limit", `Cannot ${doing}: an inbox has at most ${mostLabelsOfInbox} different labels`, {
    extra: { limit: mostLabelsOfInbox },
  });
}

const longestLabel = 64;
/** The longest text that is looked at. White space around a label is cut off. */
const longestText = 1_000;

/** Characters that are not allowed: the comma, control characters, line breaks, and those that change text direction (UAX #9). */
const refused = /[,\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/;
