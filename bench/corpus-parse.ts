/**
 * Parses every mail of a folder, as the service would, and says how it went:
 *
 *     bun bench/corpus-parse.ts FOLDER
 *
 * One row for each folder below FOLDER: mails, how many were parsed whole, the slowest. Where `X.eml` has its tree beside it
 * in `X.json` (the form of stalwart's mail-parser), a second table says how often we agree with it, and how
 * often bare postal-mime does. Fails when a mail throws, takes over a second, or we agree less often than postal-mime.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import PostalMime, { type Email } from "postal-mime";
import type { ParsedMail } from "../src/domain/message.ts";
import { mailParser } from "../src/mail/read/parse.ts";
import { storedNames } from "../src/standards/filename.ts";
import { canonicalMessageId } from "../src/standards/message-id.ts";
import { oneLine } from "../src/standards/text.ts";
import { mailsIn, withCrlf } from "./support/corpus.ts";

const [folder] = process.argv.slice(2);
if (folder === undefined) {
  console.error("Usage: bun bench/corpus-parse.ts FOLDER");
  process.exit(2);
}

const slowestAllowedMs = 1000;
/**
 * Mails that another reader reads differently on purpose: text/enriched is text here, no file, and
 * in `C:\TEMP\x.png` the backslashes divide folders.
 */
const otherwise = ["rfc/000.", "rfc/003.", "legacy/035.", "legacy/039."];
const parser = mailParser({ mailDomain: "corpus.invalid" });
const groups = new Map<string, Group>();
const agreement = new Map<string, Agreement>();
const faults: string[] = [];

for (const path of mailsIn(folder)) {
  const raw = readFileSync(join(folder, path));
  const group = entryOf(groups, path.split("/").slice(0, -1).join("/"), () => ({ mails: 0, whole: 0, slowestMs: 0 }));
  await judge(path, raw, treeOf(join(folder, path.replace(/eml$/, "json"))), group);
  const tree = treeOf(join(folder, path.replace(/eml$/, "crlf.json")));
  if (tree !== undefined) await judge(`${path} with CRLF`, withCrlf(raw), tree, group);
}
parser.close();

console.table([...groups].map(([name, group]) => ({ folder: name, ...group, slowestMs: group.slowestMs.toFixed(1) })));
if (agreement.size > 0) console.table([...agreement].map(([what, counts]) => ({ what, ...counts })));
for (const [what, { ours, postalMime }] of agreement)
  if (ours < postalMime) faults.push(`${what}: we agree less often than postal-mime`);
for (const fault of faults) console.error(fault);
process.exit(faults.length === 0 ? 0 : 1);

interface Group {
  mails: number;
  whole: number;
  slowestMs: number;
}

interface Agreement {
  of: number;
  ours: number;
  postalMime: number;
}

async function judge(name: string, raw: Uint8Array, tree: Tree | undefined, group: Group): Promise<void> {
  const startMs = performance.now();
  const mail = await parser.parse(raw).catch((error: unknown) => {
    faults.push(`${name}: threw ${String(error)}`);
    return undefined;
  });
  const tookMs = performance.now() - startMs;
  if (tookMs > slowestAllowedMs) faults.push(`${name}: took ${tookMs.toFixed(0)} ms`);
  group.mails++;
  group.slowestMs = Math.max(group.slowestMs, tookMs);
  if (mail === undefined) return;
  if (mail.complete) group.whole++;
  if (tree === undefined || otherwise.some((file) => name.includes(file))) return;
  const bare = await PostalMime.parse(raw, { forceRfc822Attachments: true });
  compare(name, wantedOf(tree), wordsOf(mail), wordsOfBare(bare));
}

/** The compared fields, each as a string. */
type Words = Record<"Subject" | "From" | "Message-ID" | "attachment count" | "attachment names", string | undefined>;

function compare(name: string, wanted: Partial<Words>, ours: Words, bare: Words): void {
  for (const what of Object.keys(ours) as (keyof Words)[]) {
    const want = wanted[what];
    if (want === undefined) continue;
    const counts = entryOf(agreement, what, () => ({ of: 0, ours: 0, postalMime: 0 }));
    counts.of++;
    if (isSame(want, ours[what])) counts.ours++;
    else if (process.env.SHOW !== undefined)
      console.log(name, what, "\n  wanted:", wanted[what], "\n  ours:  ", ours[what], "\n  bare:  ", bare[what]);
    if (isSame(want, bare[what])) counts.postalMime++;
  }
}

/** U+FFFD in a tree is a byte that stalwart could not read, so any character matches it. */
function isSame(wanted: string, got: string | undefined): boolean {
  if (got === undefined) return false;
  const pieces = wanted.split("\ufffd").map((piece) => RegExp.escape(piece));
  return new RegExp(`^${pieces.join(".")}$`, "su").test(got);
}

function wordsOf(mail: ParsedMail): Words {
  return {
    Subject: mail.subject,
    From: mail.from?.address,
    "Message-ID": canonicalMessageId(mail.messageId),
    "attachment count": String(mail.attachments.length),
    "attachment names": mail.attachments.map(({ filename }) => filename).join("\n"),
  };
}

function wordsOfBare(email: Email): Words {
  const [from] = email.from === undefined ? [] : (email.from.group ?? [email.from]);
  const parts = email.attachments.map(({ filename, mimeType }) => ({
    filename: filename ?? undefined,
    contentType: mimeType,
  }));
  return {
    Subject: oneLine(email.subject ?? ""),
    From: from?.address,
    "Message-ID": canonicalMessageId(email.messageId ?? ""),
    "attachment count": String(parts.length),
    "attachment names": storedNames(parts).join("\n"),
  };
}

/** The compared part of stalwart's tree. */
interface Tree {
  attachments: number[];
  parts: { headers: { name: unknown; value: unknown }[] }[];
}

interface ContentValue {
  c_type: string;
  c_subtype?: string;
  attributes?: { name: string; value: string }[];
}

function treeOf(path: string): Tree | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return undefined;
  }
}

function wantedOf(tree: Tree): Partial<Words> {
  const subject = headerOf<string>(tree, 0, "subject", "Text");
  const from = headerOf<{ List?: { address?: string | null }[] }>(tree, 0, "from", "Address")?.List?.[0]?.address;
  const messageId = headerOf<string>(tree, 0, "message_id", "Text");
  const parts = tree.attachments.map((index) => {
    const type = headerOf<ContentValue>(tree, index, "content_type", "ContentType");
    const disposition = headerOf<ContentValue>(tree, index, "content_disposition", "ContentType");
    const filename = attribute(disposition, "filename") ?? attribute(type, "name");
    return {
      filename,
      contentType: type === undefined ? "text/plain" : `${type.c_type}/${type.c_subtype}`.toLowerCase(),
    };
  });
  return {
    ...(subject === undefined ? {} : { Subject: oneLine(subject) }),
    ...(from == null ? {} : { From: from }),
    ...(messageId === undefined ? {} : { "Message-ID": canonicalMessageId(messageId) }),
    "attachment count": String(parts.length),
    "attachment names": storedNames(parts).join("\n"),
  };
}

/** The value of the last header of this name, which stalwart uses. */
function headerOf<Value>(tree: Tree, index: number, name: string, kind: string): Value | undefined {
  const header = tree.parts[index]?.headers.findLast((one) => one.name === name);
  const { [kind]: value } = Object(header?.value);
  return value;
}

function attribute(content: ContentValue | undefined, name: string): string | undefined {
  return content?.attributes?.find((one) => one.name === name)?.value;
}

function entryOf<Entry>(map: Map<string, Entry>, name: string, make: () => Entry): Entry {
  const entry = map.get(name) ?? make();
  map.set(name, entry);
  return entry;
}
