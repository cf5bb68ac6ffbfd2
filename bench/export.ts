/**
 * `bun bench/export.ts`: an inbox as mbox, read by python's `mailbox`, whose mails must equal those that were sent, byte by byte; the
 * memory that the export takes, beside that of an inbox of a tenth; and what it costs requests meanwhile. DATABASE=embedded for the other
 * database; MAILS for another size.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onEngine, startDatabase } from "./support/database.ts";
import { type LoadResult, load } from "./support/load.ts";
import { forgetPeak, peakMb, residentMb, untilAtRest } from "./support/process-usage.ts";
import { report, reportSkipped } from "./support/report.ts";
import { type ServiceProcess, startServiceProcess } from "./support/service.ts";
import { plainMails, smtpLoad } from "./support/smtp-load.ts";

const mails = Number(process.env.MAILS ?? 100_000);
const sizeBytes = 1_500;
const sessions = 20;
const connections = 2;
/** Lines that look like the beginning of a mail in an mbox. */
const looksLikeMbox = ["From here on", ">From here on", "From jane@example.com Sat Mar 21 10:05:00 2026"];

const directory = mkdtempSync(join(tmpdir(), "ibx-export-"));
const database = await startDatabase(["max_wal_size=4GB"]);
try {
  if (Bun.which("python3") === null) reportSkipped("export of an inbox", "there is no python3");
  else await measure();
} finally {
  await database.remove();
  rmSync(directory, { recursive: true });
}

interface Exported {
  path: string;
  seconds: number;
  /** How much the process grew meanwhile, at its peak. */
  grownMb: number;
  requests: LoadResult;
}

async function measure(): Promise<void> {
  await using service = await startServiceProcess(database.environment);
  const small = await filledInbox(service, "small", Math.ceil(mails / 10));
  const large = await filledInbox(service, "large", mails);
  await untilAtRest([service.pid, ...(database.pid === undefined ? [] : [database.pid])]);
  // The first one warms up.
  await exported(service, small.id, "warm");
  const quiet = await askOthers(service, new AbortController().signal, 5);
  const [ofSmall, ofLarge] = [await exported(service, small.id, "small"), await exported(service, large.id, "large")];
  const read = await readByPython(ofLarge.path);
  const [wanted, found] = [large.digests.toSorted(), read.toSorted()];
  const different = wanted.filter((digest, index) => digest !== found[index]).length;
  report({
    what: `export of an inbox as mbox${onEngine}`,
    value: mails / ofLarge.seconds,
    unit: "mails/s",
    note: `${(Bun.file(ofLarge.path).size / 2 ** 20).toFixed(0)} MiB`,
  });
  report({
    what: `mails of an mbox that another program reads otherwise${onEngine}`,
    value: different + Math.abs(read.length - mails),
    unit: `of ${mails}`,
    target: { value: { atMost: 0 } },
  });
  report({
    what: `growth of the process during an export${onEngine}`,
    value: ofLarge.grownMb,
    unit: "MB",
    beside: [{ name: "an inbox of a tenth", value: ofSmall.grownMb }],
    target: { value: { atMost: 100 } },
  });
  report({
    what: `requests during an export, p99${onEngine}`,
    value: ofLarge.requests.p99Ms,
    unit: "ms",
    beside: [{ name: "without", value: quiet.p99Ms }],
  });
}

/** An inbox with received mails, and their digests. */
async function filledInbox({ apiUrl, apiKey, smtpPort }: ServiceProcess, username: string, count: number) {
  const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
  const made = await fetch(`${apiUrl}/v1/inboxes`, { method: "POST", headers, body: JSON.stringify({ username }) });
  const { id, address } = (await made.json()) as { id: string; address: string };
  const plain = plainMails(sizeBytes);
  const mail = (number: number) => `${plain(number)}\r\n${looksLikeMbox[number % looksLikeMbox.length]}\r\n\r\nBye`;
  await smtpLoad({ port: smtpPort, sessions, mails: count, mail, to: () => address });
  const digests = Array.from({ length: count }, (_, number) => digestOf(`${mail(number)}\r\n`));
  return { id, digests };
}

async function exported({ apiUrl, apiKey, pid }: ServiceProcess, inboxId: string, name: string): Promise<Exported> {
  const path = join(directory, `${name}.mbox`);
  await forgetPeak(pid);
  const beforeMb = residentMb(pid);
  const over = new AbortController();
  const asking = askOthers({ apiUrl, apiKey }, over.signal);
  const startedMs = performance.now();
  const headers = { authorization: `Bearer ${apiKey}` };
  const answer = await fetch(`${apiUrl}/v1/inboxes/${inboxId}/export?format=mbox`, { headers });
  await Bun.write(path, answer);
  const seconds = (performance.now() - startedMs) / 1000;
  over.abort();
  return { path, seconds, grownMb: peakMb(pid) - beforeMb, requests: await asking };
}

/** Requests of other clients, one second after the other. */
async function askOthers(
  { apiUrl, apiKey }: Pick<ServiceProcess, "apiUrl" | "apiKey">,
  over: AbortSignal,
  seconds = Number.POSITIVE_INFINITY,
): Promise<LoadResult> {
  const headers = { authorization: `Bearer ${apiKey}` };
  let slowest: LoadResult | undefined;
  for (let second = 0; second < seconds && !(over.aborted && slowest !== undefined); second += 1) {
    const result = await load({ url: `${apiUrl}/v1/inboxes`, headers, connections, seconds: 1 });
    if (slowest === undefined || result.p99Ms > slowest.p99Ms) slowest = result;
  }
  if (slowest === undefined) throw new Error("Cannot measure: nobody asked");
  return slowest;
}

/** The digests of the mails of an mbox, without the `>` before lines that look like the beginning of a mail. */
async function readByPython(path: string): Promise<string[]> {
  const script = `
import hashlib, mailbox, re, sys
mails = mailbox.mbox(sys.argv[1], create=False)
for key in mails.iterkeys():
  print(hashlib.sha256(re.sub(rb"(?m)^>(>*From )", rb"\\1", mails.get_bytes(key))).hexdigest())`;
  const reader = Bun.spawn(["python3", "-c", script, path], { stdout: "pipe", stderr: "inherit" });
  return (await new Response(reader.stdout).text()).trimEnd().split("\n");
}

function digestOf(text: string): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("hex");
}
