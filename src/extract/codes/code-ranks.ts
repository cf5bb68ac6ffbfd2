import type { FoldedText } from "../folded-text.ts";
import { isAlphabetic, isUnspaced } from "../word-finder.ts";
import type { Candidate } from "./code-candidates.ts";
import { type CodeCues, type Cue, otherMatters } from "./code-cues.ts";
import {
  behindWords,
  channelWords,
  isWords,
  politeWords,
  possessives,
  smallWords,
  useWords,
} from "./code-small-words.ts";

/** How close to a cue a candidate is; the lowest is the best. Undefined where it does not count. */
export type Rank = 1 | 2 | 3;

export function rankOf(
  text: Pick<FoldedText, "shape" | "words">,
  candidate: Candidate,
  said: CodeCues,
  subject: CodeCues,
): Rank | undefined {
  const { cues, names } = said;
  const { cues: inSubject } = subject;
  const { start, end } = candidate;
  const firstBehind = firstAtOrAfter(cues, start);
  const before = cues
    .slice(Math.max(0, firstBehind - mostCues), firstBehind)
    .filter((cue) => cue.end <= start)
    .toReversed();
  const behind = cues.slice(firstBehind, firstBehind + 2).filter((cue) => cue.start >= end);
  const near = before.filter((cue) => start - cue.end <= farthestAbove);
  const isCued = near.length > 0 || inSubject.length > 0 || behind.length > 0;
  if (!isCued && !isUsedFor(text, candidate, said, subject)) return undefined;
  if (isNamed(text, candidate, names, before)) return undefined;
  const alone = isAlone(text.shape, start, end);
  if (isSlogan(text.shape.slice(start, end)) && ![...near, ...inSubject, ...behind].some(({ sure }) => sure))
    return undefined;
  const linked = near.some((cue) => touchesBehindCue(text, cue, candidate, alone));
  if (candidate.form === "capitals") {
    if (isOrdinary(text.words.slice(start, end)) || cues.some((cue) => cue.start < end && cue.end > start))
      return undefined;
    if (linked && isDrawn(text.shape.slice(start, end))) return 1;
    if (linked && /[:：] ?["'“«「]?$/.test(text.shape.slice(Math.max(0, start - 4), start))) return 1;
    return alone && (near.length > 0 || inSubject.some(({ sure }) => sure)) ? 2 : undefined;
  }
  if (linked || behind.some((cue) => touchesBeforeCue(text, cue, candidate))) return 1;
  if (isUsedFor(text, candidate, said, subject)) return 1;
  if (candidate.doubtful) return undefined;
  if (alone && (near.length > 0 || inSubject.length > 0)) return 2;
  if (before.some((cue) => isSaidOf(text, cue, candidate))) return 3;
  const [next] = behind;
  const pointed = next !== undefined && next.start - end <= farthestTouch && said.purposes.length > 0;
  if (candidate.form !== "digits") return undefined;
  if (alone && pointed) return 3;
  // "Here it is: 482913" where the subject alone says what.
  const announced =
    cues.length === 0 &&
    inSubject.some(({ sure }) => sure) &&
    /[\p{L}] ?[:：] ?$/u.test(text.shape.slice(Math.max(0, start - 4), start));
  return announced && !otherMatters.some(said.isAbout) ? 3 : undefined;
}

const mostCues = 4;
const farthestAbove = 200;
const farthestTouch = 40;
const farthestWord = 16;

/** A code that is announced by "is" or a colon may stand behind a longer description of what it is for. */
const farthestAnnounced = 100;

function firstAtOrAfter(cues: readonly { start: number }[], place: number): number {
  let [low, high] = [0, cues.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((cues[middle]?.start ?? 0) < place) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The word just before says what other number it is, with "no.", "#" or ":" between. */
function isNamed(
  { words }: Pick<FoldedText, "words">,
  { start }: Candidate,
  names: CodeCues["names"],
  cues: readonly Cue[],
): boolean {
  const behind = firstAtOrAfter(names, start);
  return names.slice(Math.max(0, behind - 3), behind).some((name) => {
    if (start - name.end > farthestName || cues.some((cue) => cue.start >= name.end)) return false;
    const between = words.slice(Math.min(name.end, start), start);
    if (/\n[\s\S]*\n[\s\S]*\n/.test(between) || /[.!?。！？] ?\n|[!?。！？;；]|\d/.test(between)) return false;
    if (cues.some((cue) => isPlaceOf(words, cue, name, between))) return false;
    if (isUnspaced(words, name.start))
      return !/[,，、]/.test(between) && between.replaceAll(/[\s:：()（）-]/g, "").length <= 5;
    return wordsOf(between).every((word) => nameWords.has(word) || isWords.has(word));
  });
}

/** "The code to sign in to your account is 482913", "enter the code on this page: 482913": there it is for, not whose number it is. */
function isPlaceOf(words: string, cue: Cue, name: { start: number; end: number }, between: string): boolean {
  if (cue.end > name.start || name.start - cue.end > farthestAnnounced) return false;
  const clause = words.slice(cue.end, name.start);
  if (/[,;:|/\n(]|[.!?] /.test(clause)) return false;
  if (wordsOf(between).some((word) => isWords.has(word))) return true;
  if (!/^[^:：\n]*[:：]\s*$|\n/.test(between)) return false;
  // "your phone number" is two words.
  const last = wordsOf(clause).slice(-2);
  return last.length === 0 ? cue.sure : last.some((word) => smallWords.has(word) || possessives.has(word));
}

const farthestName = 24;
const nameWords = new Set(
  "no nr num number numbers n n° nº nº № id ids code ref reference with in on de del du des da do der die das des le la el il of the a o to at xx x your ihre ihr votre su seu suo uw je sua a. n. nr. nummer numero numer cislo".split(
    " ",
  ),
);

/** The whole of its line, marks of lists, quotes and emphasis apart. */
function isAlone(shape: string, start: number, end: number): boolean {
  let left = start - 1;
  while (left >= 0 && start - left < mostDecoration && isDecoration(shape[left] ?? "")) left--;
  if (left >= 0 && shape[left] !== "\n") return false;
  let right = end;
  while (right < shape.length && right - end < mostDecoration && isDecoration(shape[right] ?? "")) right++;
  return right >= shape.length || shape[right] === "\n";
}

const mostDecoration = 80;

function isDecoration(character: string): boolean {
  return " \t\r*_>|•·-—–\"'“”„«»「」『』【】()[]（）.:：=~`。".includes(character);
}

type Text = Pick<FoldedText, "shape" | "words">;

/** Between cue and candidate stand only an "is", a possessive, marks, and a name. */
function touchesBehindCue({ shape, words }: Text, cue: Cue, { start, doubtful }: Candidate, alone: boolean): boolean {
  const between = shape.slice(cue.end, start);
  if (between.length > farthestTouch || /\d/.test(between) || endsSentence(between)) return false;
  if (between.includes("\n") && !alone && !isWrapped(shape, cue.end, between)) return false;
  const said = wordsOf(words.slice(cue.end, start));
  if (/, /.test(between) && said.length > 0 && !/[:：]/.test(between) && !said.some((word) => isWords.has(word)))
    return false;
  if (doubtful && !/[:：=「"“'\n]/.test(between) && !said.some((word) => isWords.has(word)) && !hasUnspaced(between))
    return false;
  return isLink(between, said);
}

/** The candidate is said to be the code: "482913 is your code", "use 482913 as code", "482913 (code)". */
function touchesBeforeCue({ shape, words }: Text, cue: Cue, { start, end, form, doubtful }: Candidate): boolean {
  const between = shape.slice(end, cue.start);
  if (between.length > farthestTouch || /[\d\n]/.test(between) || endsSentence(between)) return false;
  const said = wordsOf(words.slice(end, cue.start));
  if (!isLink(between, said)) return false;
  // A year before "the code": only who says that it is one means it.
  if (doubtful && !said.some((word) => isWords.has(word)) && !hasUnspaced(between)) return false;
  if (said.some((word) => behindWords.has(word)) || hasUnspaced(between)) return true;
  if (said.some((word) => possessives.has(word))) return true;
  if (said.length === 0 && between.trim() === "" && endingVerb.test(words.slice(cue.start, cue.end))) return true;
  if (/^["'”»*_)\]] ?/.test(between) && said.length === 0) return false;
  if (doubtful || cue.plural) return false;
  if (/^ ?[(（【—–:-]/.test(between)) return form === "digits" || cue.sure;
  return (
    cue.sure &&
    said.length <= 3 &&
    form === "digits" &&
    /(?:^|[\n.:!?"'([【] ?)$/.test(shape.slice(Math.max(0, start - 2), start))
  );
}

/** In the same sentence as a sure cue, or announced within it. */
function isSaidOf({ shape, words }: Text, cue: Cue, { start, form }: Candidate): boolean {
  const between = shape.slice(cue.end, start);
  if (between.length > farthestAnnounced || endsSentence(between)) return false;
  if (between.includes("\n") && !isWrapped(shape, cue.end, between)) return false;
  const said = wordsOf(words.slice(cue.end, start));
  if (isWords.has(said.at(-1) ?? "")) return true;
  // A line with a label of its own: the number is what that says.
  if (/\n[^\n:：]{2,40}[:：] ?$/.test(between)) return false;
  const pointed = possessives.has(wordsOf(words.slice(Math.max(0, cue.start - farthestWord), cue.start)).at(-1) ?? "");
  if (/[:：] ?["'“«「*_]*$/.test(between) && (cue.sure || pointed || smallWords.has(said[0] ?? ""))) return true;
  return form === "digits" && !/\d/.test(between) && cue.sure && !cue.plural && between.length <= farthestTouch;
}

/**
 * "Use 482913 to sign in", "to sign in please use 482913", "enter 482913 when you are asked for the code"; or the subject says already
 * that a code comes or that something is to be confirmed.
 */
function isUsedFor(
  { shape, words }: Text,
  { start, end, form, doubtful }: Candidate,
  { cues, purposes }: CodeCues,
  subject: CodeCues,
): boolean {
  if (form !== "digits" || doubtful) return false;
  const before = words.slice(Math.max(0, start - farthestTouch), start);
  if (!/\p{L} ?["'“«*]?$/u.test(before)) return false;
  const verb = wordsOf(before).findLast((word) => !politeWords.has(word));
  if (!useWords.has(verb ?? "")) return false;
  // "Use 204817 Main Street" is an address, whatever the subject speaks of.
  if (subject.purposes.length > 0 && !/^ \p{Lu}/u.test(shape.slice(end, end + 2))) return true;
  const isClause = (from: number, to: number) =>
    to - from <= farthestTouch && !/[\d.:;!?\n]/.test(words.slice(from, to));
  const last = purposes[firstAtOrAfter(purposes, start) - 1];
  if (last !== undefined && isClause(last.end, start)) return true;
  return [purposes, cues].some((said) => {
    const next = said[firstAtOrAfter(said, end)];
    return next !== undefined && isClause(end, next.start) && !words.slice(end, next.start).includes(",");
  });
}

function endsSentence(between: string): boolean {
  if (/[!?;](?:\s|$)|(?<![^\p{L}]\p{Lu}|\b(?:[MD]rs?|Ms|Sra?|St|No|Nr))\.(?:\s|$)|[。！？؟।；]/u.test(between))
    return true;
  const paragraph = between.search(/\n[ \t\r]{0,80}\n/);
  return paragraph !== -1 && /\p{L}/u.test(between.slice(paragraph));
}

/** A line so long that the mail program broke it. */
function isWrapped(shape: string, from: number, between: string): boolean {
  const lineBreak = from + between.indexOf("\n");
  const begun = shape.lastIndexOf("\n", lineBreak - 1);
  return lineBreak - begun > 50 && !/\n[ \t\r]*\n/.test(between);
}

function wordsOf(text: string): string[] {
  return text.match(/[\p{L}\p{M}°º]+/gu) ?? [];
}

/** In these languages the code is the object, and stands behind its number: "482913 kodunu giriniz". */
const endingVerb = /(?:^| )(?:kodu|kodot|koddal|koodia|कोड|কোড)/;

function hasUnspaced(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (isUnspaced(text, at)) return true;
  return false;
}

const mostNames = 3;

function isLink(between: string, said: readonly string[]): boolean {
  if (/[={}<>]/.test(between)) return false;
  const written = wordsOf(between);
  let names = 0;
  let foreign = 0;
  for (const [at, word] of said.entries()) {
    if ([smallWords, isWords, possessives, behindWords, useWords, channelWords].some((some) => some.has(word)))
      continue;
    const name = written[at] ?? word;
    if (!isAlphabetic(name, 0)) foreign += name.length;
    else if (name[0] !== name[0]?.toLowerCase()) names++;
    else return false;
  }
  return names <= mostNames && foreign <= 15;
}

/** `SPRING20` and `Windows11` are made by people, for a discount or a product; a code is drawn by lot. */
function isSlogan(written: string): boolean {
  const letters = /^([A-Z]{3,}|[A-Za-z][a-z]{2,}[A-Z]{0,3})\d{1,4}$/.exec(written)?.[1];
  return letters !== undefined && isSpeakable(letters);
}

/** `HXKW-PLMT`: groups of capitals that nobody can say. */
function isDrawn(written: string): boolean {
  const groups = written.split("-");
  return groups.length > 1 && !groups.every(isSpeakable);
}

/** Letters that may be a word: with a vowel, and with no more consonants before the first than words begin with. */
function isSpeakable(letters: string): boolean {
  const consonants = /^([^aeiouy]{0,10})[aeiouy]/i.exec(letters)?.[1]?.toLowerCase();
  return consonants !== undefined && (consonants.length < 2 || beginnings.has(consonants));
}

const beginnings: ReadonlySet<string> = new Set(
  "bl br ch chr cl cr dr dw fl fr gl gn gr kl kn kr ll ph pf pl pr ps rh sc sch schl schm schn schw scr sh shr sk sl sm sn sp spl spr sq st str sv sw th thr tr ts tw vl vr wh wr zw".split(
    " ",
  ),
);

/** Words of buttons and greetings that stand in capitals on lines of their own. */
const ordinaryWords = new Set(
  "hello thanks thank welcome click here continue submit start begin shop sale free note warning important team regards cheers support contact open view more next done yes okay hallo danke weiter hola gracias bonjour merci ciao grazie faq help home menu news about legal terms privacy never please dear from reply address expires minutes login signin confirm verify".split(
    " ",
  ),
);

function isOrdinary(word: string): boolean {
  return ordinaryWords.has(word);
}
