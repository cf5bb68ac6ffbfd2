/** Parts of bench/sending.ts: mail to several, forwards, and uploads. */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deliver } from "../tests/support/world.ts";
import { type BenchDatabase, onEngine } from "./support/database.ts";
import { type LoadResult, load, median } from "./support/load.ts";
import { forgetPeak, peakMb, residentMb } from "./support/process-usage.ts";
import { report } from "./support/report.ts";
import { bodyOf, headersOf, newInboxes, type SendingServer, sendsTo, startProgram } from "./support/sends.ts";
import { type ServiceProcess, startServiceProcess } from "./support/service.ts";

export interface Rounds {
  rounds: number;
  seconds: number;
}

/** Sends to twenty beside sends to one, in turns, with equal connections, accepted only. */
export async function recipients({ environment }: BenchDatabase, { rounds, seconds }: Rounds): Promise<void> {
  const server = await startProgram("accepting.ts", environment);
  const many = 20;
  const to = Array.from({ length: many }, (_, place) => `joe${place}@example${place % 3}.com`);
  const toMany = (number: number) => JSON.stringify({ ...JSON.parse(bodyOf(number)), to });
  try {
    const inboxIds = await newInboxes(server, 64);
    const ratios: number[] = [];
    const rates: [many: number, one: number][] = [];
    for (let round = 0; round <= rounds; round += 1) {
      const one = await accepted({ ...sendsTo(server, inboxIds), connections: 32, seconds });
      const all = await accepted({ ...sendsTo(server, inboxIds), body: toMany, connections: 32, seconds });
      // The first round warms up.
      if (round === 0) continue;
      rates.push([all.perSecond * many, one.perSecond]);
      ratios.push((all.perSecond * many) / one.perSecond);
    }
    report({
      what: `recipients of sends to ${many}${onEngine}`,
      value: median(rates.map(([all]) => all)),
      unit: "recipients/s",
      beside: [{ name: `${many} sends to one`, value: median(rates.map(([, one]) => one)), ratio: median(ratios) }],
      target: { ratio: { atLeast: 5 } },
    });
  } finally {
    server.stop();
  }
}

/** One request at a time: a forward of a mail of 20 MB, a send with an upload of 20 MB, and a plain send, in turns. */
export async function forwards(database: BenchDatabase, { rounds }: Rounds): Promise<void> {
  const { messageId, uploadId } = await largeMail(database);
  const server = await startProgram("accepting.ts", database.environment);
  try {
    const inboxIds = await newInboxes(server, 8);
    const words = { to: "jane@example.com", body: JSON.parse(bodyOf(0)).body as string };
    const asked = {
      plain: { ...words, subject: "Your order" },
      forward: { ...words, forwardOf: messageId },
      upload: { ...words, subject: "Your order", attachments: [{ uploadId }] },
    };
    type Kind = keyof typeof asked;
    const times: Record<Kind, number[]> = { plain: [], forward: [], upload: [] };
    for (let round = 0; round <= rounds; round += 1) {
      for (const kind of Object.keys(asked) as Kind[]) {
        const body = () => JSON.stringify(asked[kind]);
        const { p50Ms } = await accepted({ ...sendsTo(server, inboxIds), body, connections: 1, requests: 200 });
        if (round > 0) times[kind].push(p50Ms);
      }
    }
    const plain = median(times.plain);
    for (const [kind, what] of [
      ["forward", "a forward of a mail of 20 MB, accepted, p50"],
      ["upload", "a send with an upload of 15 MB, accepted, p50"],
    ] as const) {
      const ratios = times[kind].map((ms, round) => ms / (times.plain[round] ?? Number.NaN));
      report({
        what: `${what}${onEngine}`,
        value: median(times[kind]),
        unit: "ms",
        beside: [{ name: "a plain send", value: plain, ratio: median(ratios) }],
        target: { ratio: { atMost: 1.3 } },
      });
    }
  } finally {
    server.stop();
  }
}

/** Uploads of 10 MB, eight at once, beside the same pieces hashed and written by one statement each. */
export async function uploads({ environment }: BenchDatabase, { rounds }: Rounds): Promise<void> {
  const [atOnce, count] = [8, Number(process.env.MAILS ?? 48)];
  const file = crypto.getRandomValues(new Uint8Array(65_536));
  const content = new Uint8Array(10_000_000).map((_, index) => (file[index % file.length] ?? 0) ^ (index >> 16));
  const rates: number[] = [];
  const peers: number[] = [];
  const grown: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    await using service = await startServiceProcess({ ...environment, UPLOADS_MAX_BYTES: "1000000000000" });
    await uploaded(service, content, atOnce, atOnce);
    const restMb = residentMb(service.pid);
    await forgetPeak(service.pid);
    rates.push(await uploaded(service, content, count, atOnce));
    grown.push(peakMb(service.pid) - restMb);
    peers.push(await written(count, atOnce));
  }
  report({
    what: `uploads of 10 MB, ${atOnce} at once${onEngine}`,
    value: median(rates),
    unit: "uploads/s",
    beside: [
      {
        name: "the same pieces, hashed and written",
        value: median(peers),
        ratio: median(rates.map((rate, round) => rate / (peers[round] ?? Number.NaN))),
      },
    ],
    target: { ratio: { atLeast: 0.7 } },
  });
  report({
    what: `memory while ${atOnce} uploads of 10 MB come${onEngine}`,
    value: median(grown),
    unit: "MiB",
    target: { value: { atMost: 64 } },
    note: "the most that it had above what it had before",
  });

  /** On an embedded database of its own, since the service holds the directory of the other. */
  async function written(files: number, together: number): Promise<number> {
    const program = [process.execPath, join(import.meta.dir, "writing-pieces.ts"), String(files), String(together)];
    const env = { ...process.env, ...environment, DATA_DIR: mkdtempSync(join(tmpdir(), "ibx-pieces-")) };
    const run = Bun.spawn(program, { env, stdout: "pipe", stderr: "inherit" });
    return ((await new Response(run.stdout).json()) as { perSecond: number }).perSecond;
  }
}

async function uploaded(
  { apiUrl, apiKey }: SendingServer,
  content: Uint8Array<ArrayBuffer>,
  count: number,
  atOnce: number,
): Promise<number> {
  const startMs = performance.now();
  let left = count;
  const run = async () => {
    while (left-- > 0) {
      const headers = { authorization: `Bearer ${apiKey}` };
      const response = await fetch(`${apiUrl}/v1/uploads?filename=a.bin`, { method: "POST", headers, body: content });
      if (response.status !== 201) throw new Error(`Cannot measure: ${await response.text()}`);
      await response.json();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, run));
  return (count * 1000) / (performance.now() - startMs);
}

/** A received mail of 20 MB, and its file as an upload. */
async function largeMail({ environment }: BenchDatabase): Promise<{ messageId: string; uploadId: string }> {
  await using service: ServiceProcess = await startServiceProcess(environment);
  const content = crypto.getRandomValues(new Uint8Array(65_536));
  const file = new Uint8Array(15_000_000).map((_, index) => (content[index % content.length] ?? 0) ^ (index >> 16));
  const [inboxId = ""] = await newInboxes(service, 1);
  const inbox = await asked<{ address: string }>(service, `/v1/inboxes/${inboxId}`);
  const lines = file.toBase64().replaceAll(/.{76}/g, "$&\r\n");
  const raw =
    `From: jane@example.com\r\nTo: ${inbox.address}\r\nSubject: The plan\r\nMIME-Version: 1.0\r\n` +
    `Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nSee the file.\r\n--b\r\n` +
    "Content-Type: application/octet-stream\r\nContent-Disposition: attachment; filename=plan.bin\r\n" +
    `Content-Transfer-Encoding: base64\r\n\r\n${lines}\r\n--b--\r\n`;
  const reply = await deliver(service.smtpPort, raw, inbox.address);
  if (!reply.startsWith("250")) throw new Error(`Cannot measure: ${reply}`);
  const page = await asked<{ data: { id: string }[] }>(service, `/v1/inboxes/${inboxId}/messages`);
  const init = { method: "POST", body: file };
  const { id: uploadId } = await asked<{ id: string }>(service, "/v1/uploads?filename=plan.bin", init);
  return { messageId: page.data[0]?.id ?? "", uploadId };
}

async function asked<Answer>(server: SendingServer, path: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(server.apiUrl + path, { headers: headersOf(server), ...init });
  if (!response.ok) throw new Error(`Cannot measure: ${await response.text()}`);
  return (await response.json()) as Answer;
}

async function accepted(of: Parameters<typeof load>[0]): Promise<LoadResult> {
  const result = await load(of);
  if (result.statuses["200"] !== result.requests) throw new Error(`not all 200: ${JSON.stringify(result.statuses)}`);
  return result;
}
