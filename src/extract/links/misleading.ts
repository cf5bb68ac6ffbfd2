import { domainToUnicode } from "node:url";
import { isIpAddress } from "../../standards/ip.ts";

/**
 * True if a link is not what it looks like: its words name another host, or its address has a form that deceives readers. A host and its
 * subdomains have the same owner.
 */
export function isMisleading(words: string, url: URL): boolean {
  if (url.username !== "" || url.password !== "") return true;
  if (isIpAddress(url.hostname.replace(/^\[|\]$/g, "")) || mixesScripts(url.hostname)) return true;
  return hostsIn(words).some((named) => !isSameOwner(named, hostOf(url)));
}

/** The hosts named by the words: those of addresses with a scheme, or else the words as a whole if they are a host. */
function hostsIn(words: string): string[] {
  if (plainWords.test(words)) return [];
  const plain = words
    .normalize("NFKC")
    .replaceAll(/\p{Default_Ignorable_Code_Point}/gu, "")
    .trim();
  const hosts: string[] = [];
  for (const [written] of plain.matchAll(/\bhttps?:\/\/[^\s<>"']{1,500}/gi)) {
    const url = URL.parse(written);
    if (url !== null) hosts.push(hostOf(url));
  }
  if (hosts.length > 0) return hosts;
  const [, host = "", rest = ""] =
    /^((?:[\p{L}\p{M}\p{N}-]{1,63}\.){1,10}[\p{L}\p{M}-]{2,63})\.?(:\d{1,5})?(?:[/?#]\S*)?$/u.exec(plain) ?? [];
  const url = host === "" ? null : URL.parse(`https://${host}${rest}`);
  if (url === null) return [];
  // "Node.js" and "report.pdf" are names of products and files and not hosts, unless a path follows.
  const isName =
    !plain.includes("/") &&
    !/^www\./i.test(host) &&
    endingsOfNames.has(host.slice(host.lastIndexOf(".") + 1).toLowerCase());
  return isName ? [] : [hostOf(url)];
}

/** Matches ASCII words without a dot or a slash, as most are. They name no host. */
const plainWords = /^[\0-\x2d\x30-\x7f]*$/;

const endingsOfNames: ReadonlySet<string> = new Set(
  "js ts jsx tsx mjs md txt pdf html htm php asp aspx png jpg jpeg gif svg webp zip gz tar rar doc docx xls xlsx ppt pptx csv json xml yml yaml toml py rb rs sh cpp java exe ics eml net".split(
    " ",
  ),
);

function hostOf({ hostname }: URL): string {
  return hostname.replace(/\.$/, "").replace(/^www\./, "");
}

function isSameOwner(one: string, other: string): boolean {
  return one === other || one.endsWith(`.${other}`) || other.endsWith(`.${one}`);
}

/** True if a label of the host mixes scripts that no language mixes (UTS 39, "highly restrictive"). */
function mixesScripts(hostname: string): boolean {
  if (!hostname.includes("xn--")) return false;
  return domainToUnicode(hostname)
    .split(".")
    .some((label) => {
      const scripts = new Set([...label].flatMap((letter) => scriptOf(letter) ?? []));
      return scripts.size > 1 && !together.some((some) => scripts.isSubsetOf(some));
    });
}

const together: readonly ReadonlySet<string>[] = [
  new Set(["Latin", "Han", "Hiragana", "Katakana"]),
  new Set(["Latin", "Han", "Hangul"]),
  new Set(["Latin", "Han", "Bopomofo"]),
];

function scriptOf(letter: string): string | undefined {
  if (!/[\p{L}\p{M}]/u.test(letter) || /[\p{Script=Common}\p{Script=Inherited}]/u.test(letter)) return undefined;
  return scripts.find(([, pattern]) => pattern.test(letter))?.[0] ?? "other";
}

const scripts: readonly [name: string, pattern: RegExp][] = [
  ["Latin", /\p{Script=Latin}/u],
  ["Cyrillic", /\p{Script=Cyrillic}/u],
  ["Greek", /\p{Script=Greek}/u],
  ["Armenian", /\p{Script=Armenian}/u],
  ["Hebrew", /\p{Script=Hebrew}/u],
  ["Arabic", /\p{Script=Arabic}/u],
  ["Han", /\p{Script=Han}/u],
  ["Hiragana", /\p{Script=Hiragana}/u],
  ["Katakana", /\p{Script=Katakana}/u],
  ["Hangul", /\p{Script=Hangul}/u],
  ["Bopomofo", /\p{Script=Bopomofo}/u],
];
