/**
 * `bun bench/documents.ts [FOLDER]`: the reader of documents. First 100 pages of text in each of three formats, two of them beside
 * officeparser, which npm fetches; then the slowest hostile document, and the longest pause of this process meanwhile.
 *
 * With FOLDER also the share of its documents whose words are those of its `index.json`, and of officeparser's. A line of that list names a
 * `file`, the file of its `expected` words with other `orders`, words that stand anywhere (`also`), hidden words (`absent`), whether the
 * order counts (`order`), or the reasons for which it is `refused`. Words are right with a recall of 98 % and 95 % in order. A document that
 * fails is judged again by the words that pdftotext or LibreOffice (`soffice`) reads, if they are installed.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { documentReader } from "../src/mail/documents/document-reader.ts";
import { readDocument } from "../src/mail/documents/read-document.ts";
import { textOfSeenHtml } from "../src/mail/html/seen-html.ts";
import { hostileDocuments } from "../tests/support/documents/hostile.ts";
import { longDocuments } from "../tests/support/documents/long.ts";
import { inOrder, recall, wordsOf } from "../tests/support/documents/words.ts";
import { median } from "./support/load.ts";
import { report, reportSkipped } from "./support/report.ts";

const rounds = Number(process.env.ROUNDS ?? 5);
const [folder] = process.argv.slice(2);
const peerVersion = "8.1.1";
/** The kinds that the peer reads here: its reader of PDF does not work on this runtime. */
const readByPeer = /\.(?:docx|xlsx|pptx|odt|ods|odp|rtf)$/;
const directory = mkdtempSync(join(tmpdir(), "ibx-bench-documents-"));

type Reader = (bytes: Uint8Array, filename: string) => Promise<string>;

const ours: Reader = async (bytes, filename) => {
  const read = await readDocument({ bytes, filename, contentType: "application/octet-stream" });
  return "reason" in read ? "" : read.text;
};
const peer = await officeparser();

for (const [about, filename, bytes] of longDocuments()) {
  const mine: number[] = [];
  const theirs: number[] = [];
  const hasPeer = peer !== undefined && readByPeer.test(filename);
  for (let round = 0; round <= rounds; round++) {
    mine.push(await timed(ours, bytes, filename));
    if (hasPeer) theirs.push(await timed(peer, bytes, filename));
  }
  report({
    what: `${about}, 100 pages`,
    value: median(mine.slice(1)),
    unit: "ms",
    ...(hasPeer && { beside: [{ name: "officeparser", value: median(theirs.slice(1)) }] }),
    target: { value: { atMost: 1000 } },
  });
}

await measureHostile();
if (folder === undefined) reportSkipped("words of real documents", "no folder of documents was given");
else await scoreFolder(folder);
rmSync(directory, { recursive: true, force: true });
process.exit(0);

async function timed(read: Reader, bytes: Uint8Array, filename: string): Promise<number> {
  const beganMs = performance.now();
  await read(bytes.slice(), filename);
  return performance.now() - beganMs;
}

async function officeparser(): Promise<Reader | undefined> {
  await Bun.$`npm install --no-audit --no-fund --prefix ${directory} officeparser@${peerVersion}`.quiet().nothrow();
  try {
    const { parseOffice } = await import(join(directory, "node_modules/officeparser/dist/index.js"));
    return async (bytes, filename) => {
      try {
        const tree = await parseOffice(Buffer.from(bytes), { fileType: filename.split(".").at(-1) });
        return (await tree.to("text")).value;
      } catch {
        return "";
      }
    };
  } catch {
    reportSkipped("officeparser", `npm could not install officeparser@${peerVersion}`);
    return undefined;
  }
}

async function measureHostile(): Promise<void> {
  const reader = documentReader();
  let slowestMs = 0;
  let lagMs = 0;
  let lastMs = performance.now();
  const watch = setInterval(() => {
    lagMs = Math.max(lagMs, performance.now() - lastMs - 10);
    lastMs = performance.now();
  }, 10);
  for (const [, filename, bytes] of hostileDocuments) {
    const beganMs = performance.now();
    await reader.read(async () => ({ bytes, filename, contentType: "" }), "acc_1");
    slowestMs = Math.max(slowestMs, performance.now() - beganMs);
  }
  clearInterval(watch);
  reader.close();
  report({ what: "the slowest hostile document", value: slowestMs, unit: "ms", target: { value: { atMost: 2500 } } });
  report({ what: "the longest pause meanwhile", value: lagMs, unit: "ms", target: { value: { atMost: 250 } } });
}

interface Entry {
  file: string;
  expected: string | null;
  orders: string[];
  also: string | null;
  order: boolean;
  absent: string[];
  refused: string[] | null;
}

async function scoreFolder(root: string): Promise<void> {
  const entries = JSON.parse(readFileSync(join(root, "index.json"), "utf8")) as Entry[];
  const judged = entries.filter(({ expected, also, refused }) => refused === null && (expected ?? also) !== null);
  const wrong = await wrongBy(ours, judged, root);
  let agreed = 0;
  for (const { file, absent } of wrong) {
    const isAgreed = await isLikeAnother(join(root, file), absent);
    if (isAgreed) agreed++;
    process.stdout.write(
      `${file}: not the expected words${isAgreed ? ", but those that another program reads" : ""}\n`,
    );
  }
  const share = (missed: number) => 100 * (1 - missed / judged.length);
  report({
    what: `documents with the right words, of ${judged.length}`,
    value: share(wrong.length - agreed),
    unit: "%",
    target: { value: { atLeast: 97 } },
    note: `${share(wrong.length).toFixed(1)} % by the expectations of the folder alone`,
  });
  const office = judged.filter(({ file }) => readByPeer.test(file));
  if (peer !== undefined) {
    const right = (missed: readonly Entry[]) =>
      office.length - missed.filter(({ file }) => readByPeer.test(file)).length;
    report({
      what: `of them ${office.length} of office programs, with the right words`,
      value: right(wrong),
      unit: "documents",
      beside: [{ name: "officeparser", value: right(await wrongBy(peer, office, root)) }],
    });
  }
  for (const { file, refused } of entries) {
    if (refused === null) continue;
    const read = await readDocument({ bytes: readFileSync(join(root, file)), filename: file, contentType: "" });
    const reason = "reason" in read ? read.reason : "read";
    if (!refused.includes(reason)) process.stdout.write(`${file}: ${reason} instead of ${refused.join(" or ")}\n`);
  }
}

async function wrongBy(read: Reader, entries: readonly Entry[], root: string): Promise<Entry[]> {
  const wrong: Entry[] = [];
  const textOf = (path: string | null) => (path === null ? "" : readFileSync(join(root, path), "utf8"));
  for (const entry of entries) {
    const seen = wordsOf(await read(readFileSync(join(root, entry.file)), basename(entry.file)));
    const orders =
      entry.expected === null ? [] : [entry.expected, ...entry.orders].map((path) => wordsOf(textOf(path)));
    const wanted = [...wordsOf(textOf(entry.expected)), ...wordsOf(textOf(entry.also))];
    const isRight =
      recall(wanted, seen) >= 0.98 && (!entry.order || isInOrder(orders, seen)) && hasNone(entry.absent, seen);
    if (!isRight) wrong.push(entry);
  }
  return wrong;
}

function isInOrder(orders: readonly string[][], seen: readonly string[]): boolean {
  return orders.length === 0 || orders.some((order) => inOrder(order, seen) >= 0.95);
}

function hasNone(absent: readonly string[], seen: readonly string[]): boolean {
  return absent.every((hidden) => !wordsOf(hidden).every((each) => seen.includes(each)));
}

/** Whether our words are those that pdftotext or LibreOffice reads, in that order. */
async function isLikeAnother(path: string, absent: readonly string[]): Promise<boolean> {
  const theirs = wordsOf(await textByAnother(path));
  const seen = wordsOf(await ours(readFileSync(path), basename(path)));
  return theirs.length > 0 && recall(theirs, seen) >= 0.98 && inOrder(theirs, seen) >= 0.95 && hasNone(absent, seen);
}

async function textByAnother(path: string): Promise<string> {
  if (path.endsWith(".pdf")) return await Bun.$`pdftotext ${path} -`.quiet().nothrow().text();
  await Bun.$`soffice --headless --convert-to html --outdir ${directory} ${path}`.quiet().nothrow();
  const page = join(directory, basename(path).replace(/\.\w+$/, ".html"));
  if (!existsSync(page)) return "";
  // LibreOffice begins a workbook with a list of its sheets, and hides comments by a style.
  const html = readFileSync(page, "utf8")
    .replace(/^[\s\S]*?<(?:hr|body)[^>]*>/i, "")
    .replaceAll(/Sheet \d+:/g, "");
  rmSync(page);
  return textOfSeenHtml(html);
}
