import { firstRule, type Rule } from "../first-rule.ts";
import { foldText } from "../folded-text.ts";
import { wordFinder } from "../word-finder.ts";
import { type LinkWordKind, linkWords, signUpWords, splitVerbs, wordsBehindSplit } from "./link-words.ts";

export const linkKinds = ["verify", "sign_in", "reset_password", "unsubscribe"] as const;

export type LinkKind = (typeof linkKinds)[number];

/** The purpose of a link, from its words, or else from the path of its address; null if neither shows a known purpose. */
export function linkKindOf(words: string, url: URL): LinkKind | null {
  return kindOfWords(words) ?? kindOfPath(url) ?? null;
}

type Has = (kind: LinkWordKind) => boolean;

/** The specific kinds come first, because unsubscribing may need a confirmation, and a new password a verification. */
const kindRules: readonly Rule<Has, LinkKind>[] = [
  ["Unsubscribe", (has) => has("unsubscribe"), "unsubscribe"],
  ["Forgot your password?", (has) => has("reset"), "reset_password"],
  ["Choose a new password", (has) => has("renew") && has("password"), "reset_password"],
  ["Verify", (has) => has("verify"), "verify"],
  ["Confirm your email address", (has) => has("confirm") && has("account"), "verify"],
  ["Sign in", (has) => has("sign_in"), "sign_in"],
];

const find = wordFinder<LinkWordKind>(linkWords);

function kindOfWords(text: string): LinkKind | undefined {
  if (text === "") return undefined;
  const { words } = foldText(text);
  const found = find(words);
  const split = splitKindOf(words);
  const kind = firstRule(kindRules, (kind) => kind === split || found.some((one) => one.kind === kind));
  if (kind !== undefined) return kind;
  const [first, ...others] = found;
  // "Confirm" alone verifies an account; a link that confirms a booking names it.
  const isAlone = first?.kind === "confirm" && others.length === 0 && !/[\p{L}\p{N}]/u.test(words.slice(first.end));
  return isAlone && !/[\p{L}\p{N}]/u.test(words.slice(0, first.start)) ? "verify" : undefined;
}

/** The kind of link that a verb in two separate parts means, as in "Melden Sie sich an". */
function splitKindOf(words: string): LinkWordKind | undefined {
  if (!splitVerb.test(words)) return undefined;
  const clauses = words.split(/[.,;:!?]/).map((clause) => clause.match(/[\p{L}\p{M}]+/gu) ?? []);
  for (const clause of clauses) {
    for (const { kind, verbs, reader, ends } of splitVerbs) {
      const verb = clause.findIndex((word) => verbs.includes(word));
      if (verb < 0) continue;
      const end = clause.findIndex((word, at) => at > verb + 1 && ends.includes(word));
      const next = clause[end + 1];
      if (end < 0 || end - verb > mostBetween || !(next === undefined || wordsBehindSplit.has(next))) continue;
      const between = clause.slice(verb + 1, end);
      if (reader.length > 0 && !between.some((word) => reader.includes(word))) continue;
      if (kind === "sign_in" && [...between, next ?? ""].some((word) => signUpWords.has(word))) continue;
      return kind;
    }
  }
  return undefined;
}

const mostBetween = 8;

/** A quick test for the first parts of two-part verbs: most links have none of them. */
const splitVerb = /\b(?:meld|log|trag|schrijf|bestell|schalt)/;

/** A path segment with more words is taken for the title of an article, and ignored. */
const mostWordsOfSegment = 4;

function kindOfPath({ pathname, hash }: URL): LinkKind | undefined {
  // Single-page applications write their path after a `#`.
  const path = hash.startsWith("#/") || hash.startsWith("#!/") ? `${pathname}/${hash.slice(1)}` : pathname;
  const words = new Set<string>();
  for (const segment of path.slice(0, longestPath).split(/[/?&]/)) {
    const inSegment = segment
      .replaceAll(/([a-z])([A-Z])/g, "$1-$2")
      .toLowerCase()
      .split(/[^a-z0-9]+/)
      .filter((word) => word !== "");
    if (inSegment.length <= mostWordsOfSegment) for (const word of inSegment) words.add(word);
  }
  for (const [first, second, word] of pathPairs) if (words.has(first) && words.has(second)) words.add(word);
  return firstRule(kindRules, (kind) => !words.isDisjointFrom(pathWords[kind]));
}

const longestPath = 500;

/** Pairs of words in a path, each with the one word of the same meaning in `pathWords`. */
const pathPairs: readonly (readonly [first: string, second: string, word: string])[] = [
  ["opt", "out", "optout"],
  ["log", "in", "login"],
  ["sign", "in", "signin"],
  ["magic", "link", "magiclink"],
];

const pathWords: Readonly<Record<LinkWordKind, ReadonlySet<string>>> = {
  unsubscribe: new Set("unsubscribe unsub optout listunsubscribe abmelden desabonnement baja uitschrijven".split(" ")),
  reset: new Set("resetpassword passwordreset forgotpassword recoverpassword pwreset".split(" ")),
  renew: new Set("reset forgot forgotten recover recovery new change restore".split(" ")),
  password: new Set("password passwd passwords pw pwd passwort".split(" ")),
  verify: new Set(
    "verify verification verifyemail emailverification activate activation confirmemail emailconfirmation doi".split(
      " ",
    ),
  ),
  confirm: new Set("confirm confirmation validate validation".split(" ")),
  account: new Set(
    "email emails mail account accounts user users registration register signup address identity subscription subscriptions auth newsletter".split(
      " ",
    ),
  ),
  sign_in: new Set("signin login logon magiclink magic-link passwordless".split(" ")),
};
