/**
 * `bun bench/profile.ts [receiving] [accepting] [relaying] [webhooks] [--page docs/performance.md]`: profiles the service's process on its
 * four hot paths with Bun's profiler, on a Postgres of its own, for SECONDS (20) each. Prints the shares by owner and the most
 * expensive functions; --page writes them into that page.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { readShares, type Shares } from "./support/cpu-profile.ts";
import { type BenchDatabase, startDatabase } from "./support/database.ts";
import { load } from "./support/load.ts";
import { describeMachine, describeState } from "./support/machine.ts";
import { acceptWaiting, drainedOutbox } from "./support/outbox.ts";
import { row, writeSection } from "./support/page.ts";
import { newInboxes, sendsTo, startProgram } from "./support/sends.ts";
import { startServiceProcess } from "./support/service.ts";
import { plainMails, smtpLoad } from "./support/smtp-load.ts";
import { smtpSink } from "./support/smtp-sink.ts";

const seconds = Number(process.env.SECONDS ?? 20);
const mails = Number(process.env.MAILS ?? 20_000);
const events = Number(process.env.EVENTS ?? 60_000);
const functionsShown = 12;

const { values, positionals } = parseArgs({ allowPositionals: true, options: { page: { type: "string" } } });

/** Drives one path; returns the rate and the time span. */
interface Driven {
  perSecond: number;
  since: Date;
  until: Date;
}

const paths = {
  receiving: {
    title: "Receiving: mails of 5 KiB, 20 kept connections",
    unit: "mails/s",
    drive: receiving,
  },
  accepting: {
    title: "Accepting sends: 32 connections, 64 inboxes, without the workers",
    unit: "requests/s",
    drive: accepting,
  },
  relaying: {
    title: "Relaying: mails of 2 KB that wait, to smtp-sink",
    unit: "mails/s",
    drive: relaying,
  },
  webhooks: {
    title: "Delivering webhooks: the workers alone, a receiver that answers at once",
    unit: "deliveries/s",
    drive: webhooks,
  },
};
type Path = keyof typeof paths;

const asked = positionals.filter((name): name is Path => name in paths);
if (asked.length < positionals.length) {
  process.stderr.write(`Cannot profile: the paths are ${Object.keys(paths).join(", ")}\n`);
  process.exit(2);
}
const all = asked.length > 0 ? asked : (Object.keys(paths) as Path[]);
if (values.page !== undefined && all.length < Object.keys(paths).length) {
  process.stderr.write("Cannot write the page: it tells of all paths, and not all were asked for\n");
  process.exit(2);
}

const sections: string[] = [];
for (const name of all) sections.push(await profiled(name));
if (values.page !== undefined) {
  writeSection(values.page, "profile", [`${describeState()}. ${describeMachine()}.`, ...sections].join("\n\n"));
}

async function profiled(name: Path): Promise<string> {
  const { title, unit, drive } = paths[name];
  const directory = mkdtempSync(join(tmpdir(), "ibx-profile-"));
  const database = await startDatabase(["shared_buffers=256MB", "max_wal_size=2GB"]);
  try {
    const { perSecond, since, until } = await drive(database, ["--cpu-prof", `--cpu-prof-dir=${directory}`]);
    const section = `### ${title}\n\n${shown(await readShares(directory, since, until), `${perSecond.toFixed(0)} ${unit}`)}`;
    process.stdout.write(`${section}\n\n`);
    return section;
  } finally {
    await database.remove();
    rmSync(directory, { recursive: true, force: true });
  }
}

async function receiving({ environment }: BenchDatabase, bunArguments: string[]): Promise<Driven> {
  await using service = await startServiceProcess(environment, { bunArguments });
  const [inboxId = ""] = await newInboxes(service, 1);
  const headers = { authorization: `Bearer ${service.apiKey}` };
  const answer = await fetch(`${service.apiUrl}/v1/inboxes/${inboxId}`, { headers });
  const { address } = (await answer.json()) as { address: string };
  const of = { port: service.smtpPort, sessions: 20, mail: plainMails(5 << 10), to: () => address };
  // The rate decides how many mails fill the time.
  const { perSecond } = await smtpLoad({ ...of, mails: 1_000, mail: (number) => of.mail(number + 1e7) });
  return await during(async () => (await smtpLoad({ ...of, mails: Math.ceil(perSecond * seconds) })).perSecond);
}

async function accepting({ environment }: BenchDatabase, bunArguments: string[]): Promise<Driven> {
  const service = await startProgram("accepting.ts", environment, { bunArguments });
  try {
    const inboxIds = await newInboxes(service, 64);
    await load({ ...sendsTo(service, inboxIds), connections: 32, seconds: 1 });
    return await during(
      async () => (await load({ ...sendsTo(service, inboxIds), connections: 32, seconds })).perSecond,
    );
  } finally {
    service.stop();
    await service.exited;
  }
}

async function relaying({ environment, server }: BenchDatabase, bunArguments: string[]): Promise<Driven> {
  await using sink = await smtpSink();
  await acceptWaiting(environment, { mails, inboxCount: 64 });
  const outbound = { ...environment, OUTBOUND: `smtp://127.0.0.1:${sink.port}?tls=off` };
  await using service = await startServiceProcess(outbound, { bunArguments });
  return await drainedOutbox(service, server, mails);
}

async function webhooks({ environment }: BenchDatabase, bunArguments: string[]): Promise<Driven> {
  const start = (words: readonly string[], before: readonly string[] = []) =>
    Bun.spawn([process.execPath, ...before, join(import.meta.dir, "webhooks.ts"), ...words], {
      env: { ...process.env, ...environment, EVENTS: String(events) },
      stdout: "pipe",
      stderr: "inherit",
    });
  const receiver = start(["receiver"]);
  try {
    const { value: address } = await receiver.stdout.pipeThrough(new TextDecoderStream()).getReader().read();
    if ((await start(["prepare", address?.trim() ?? ""]).exited) !== 0)
      throw new Error("Cannot profile: no events were made");
    const worker = start(["ours"], bunArguments);
    const [perSecond = 0, , sinceMs = 0] = (await new Response(worker.stdout).text()).split(" ").map(Number);
    await worker.exited;
    return { perSecond, since: new Date(sinceMs), until: new Date(sinceMs + (events * 1000) / perSecond) };
  } finally {
    receiver.kill();
  }
}

async function during(work: () => Promise<number>): Promise<Driven> {
  const since = new Date();
  const perSecond = await work();
  return { perSecond, since, until: new Date() };
}

function shown({ owners, functions, samples }: Shares, rate: string): string {
  const percent = (share: number) => `${(share * 100).toFixed(1)} %`;
  const dear = [...owners].filter(([, { share }]) => share >= 0.005);
  const rest = [...owners].slice(dear.length).reduce((sum, [, { share }]) => sum + share, 0);
  const native = [...owners.values()].reduce((sum, { native }) => sum + native, 0);
  return [
    `${rate} while the profiler watched; ${samples} samples, ${percent(native)} of them in native code.`,
    "",
    row("owner", "share of CPU", "of it in native code"),
    row("---", "---:", "---:"),
    ...dear.map(([owner, { share, native }]) => row(owner, percent(share), percent(native))),
    ...(rest > 0 ? [row("others", percent(rest), "")] : []),
    "",
    row("function", "file", "share of CPU"),
    row("---", "---", "---:"),
    ...functions.slice(0, functionsShown).map(({ name, file, share }) => row(`\`${name}\``, file, percent(share))),
  ].join("\n");
}
