import { foldText } from "../folded-text.ts";
import { wordFinder } from "../word-finder.ts";
import { type LinkWordKind, linkWords, signUpWords, splitVerbs, wordsBehindSplit } from "./link-words.ts";

export const linkKinds = ["verify", "sign_in", "reset_password", "unsubscribe"] as const;

export type LinkKind = (typeof linkKinds)[number];

/** What a link is for: by its words first, in whatever language, then by the path of its address. */
export function linkKindOf(words: string, url: URL): LinkKind | null {
  return kindOfWords(words) ?? kindOfPath(url) ?? null;
}

const find = wordFinder<LinkWordKind>(linkWords);

/** To leave a list may need to be confirmed, and a new password to be verified: what is more particular goes first. */
function kindOfWords(text: string): LinkKind | undefined {
  if (text === "") return undefined;
  const { words } = foldText(text);
  const found = find(words);
  const split = splitKindOf(words);
  const has = (kind: LinkWordKind) => kind === split || found.some((one) => one.kind === kind);
  if (has("unsubscribe")) return "unsubscribe";
  if (has("reset") || (has("renew") && has("password"))) return "reset_password";
  if (has("verify") || (has("confirm") && has("account"))) return "verify";
  const [first, ...others] = found;
  // "Confirm" and nothing else: a booking that is to be confirmed says so.
  const isAlone = first?.kind === "confirm" && others.length === 0 && !/[\p{L}\p{N}]/u.test(words.slice(first.end));
  if (isAlone && !/[\p{L}\p{N}]/u.test(words.slice(0, first.start))) return "verify";
  return has("sign_in") ? "sign_in" : undefined;
}

/** The kind of a verb whose parts stand apart. */
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

/** Most links have none of these verbs. */
const splitVerb = /\b(?:meld|log|trag|schrijf|bestell|schalt)/;

/** Of longer ones a segment is the title of an article. */
const mostWordsOfSegment = 4;

function kindOfPath({ pathname, hash }: URL): LinkKind | undefined {
  // Pages that are programs write their path behind a `#`.
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
  const hasAny = (list: ReadonlySet<string>) => !words.isDisjointFrom(list);
  if (hasAny(pathWords.unsubscribe) || (words.has("opt") && words.has("out"))) return "unsubscribe";
  if (hasAny(pathWords.reset) || (hasAny(pathWords.renew) && hasAny(pathWords.password))) return "reset_password";
  if (hasAny(pathWords.verify) || (hasAny(pathWords.confirm) && hasAny(pathWords.account))) return "verify";
  const isSignIn = hasAny(pathWords.signIn) || [...words].some((word) => inOnes.has(word) && words.has("in"));
  return isSignIn || (words.has("magic") && words.has("link")) ? "sign_in" : undefined;
}

const longestPath = 500;

const inOnes: ReadonlySet<string> = new Set(["log", "sign"]);

const pathWords = {
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
  signIn: new Set("signin login logon magiclink magic-link passwordless".split(" ")),
} satisfies Record<string, ReadonlySet<string>>;
