/**
 * Sends every mail of a folder through the whole service and holds what comes out of the API against what went in:
 *
 *     bun bench/corpus-receive.ts FOLDER
 *
 * Each goes as it lies there, and once more with CRLF where it has bare line feeds. One row for each folder below FOLDER: mails,
 * how many are refused for a lone dot beside a bare line feed, the slowest. Fails when a mail is answered otherwise, takes over
 * a second, is not there once, is listed as no JSON, comes back with other bytes, or has an attachment that can't be fetched.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { deliver } from "../tests/support/world.ts";
import { mailsIn, withCrlf } from "./support/corpus.ts";
import { startServiceProcess } from "./support/service.ts";

const [folder] = process.argv.slice(2);
if (folder === undefined) {
  console.error("Usage: bun bench/corpus-receive.ts FOLDER");
  process.exit(2);
}

const slowestAllowedMs = 1000;
const databaseUrl = process.env.DATABASE_URL;
await using service = await startServiceProcess(databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl });
const headers = { authorization: `Bearer ${service.apiKey}` };
const groups = new Map<string, { mails: number; attachments: number; loneDots: number; slowestMs: number }>();
const faults: string[] = [];

// Each file gets an inbox of its own, so that equal mails do not count as copies.
for (const path of mailsIn(folder)) {
  const raw = readFileSync(join(folder, path));
  await judge(path, raw);
  if (!withCrlf(raw).equals(raw)) await judge(`${path} with CRLF`, withCrlf(raw));
}

console.table([...groups].map(([name, group]) => ({ folder: name, ...group, slowestMs: group.slowestMs.toFixed(1) })));
for (const fault of faults) console.error(fault);
process.exitCode = faults.length === 0 ? 0 : 1;

async function judge(path: string, raw: Buffer): Promise<void> {
  const name = path.split("/").slice(0, -1).join("/");
  const group = groups.get(name) ?? { mails: 0, attachments: 0, loneDots: 0, slowestMs: 0 };
  groups.set(name, group);
  group.mails += 1;
  const { id, address } = await ask("/v1/inboxes", { method: "POST", headers });
  const startMs = performance.now();
  const reply = await deliver(service.smtpPort, raw, address);
  const tookMs = performance.now() - startMs;
  group.slowestMs = Math.max(group.slowestMs, tookMs);
  if (tookMs > slowestAllowedMs) faults.push(`${path}: took ${tookMs.toFixed(0)} ms`);
  if (reply.startsWith("550 5.6.0")) {
    group.loneDots += 1;
    return;
  }
  if (!reply.startsWith("250")) faults.push(`${path}: answered ${reply}`);
  const { data, total } = await ask(`/v1/inboxes/${id}/messages`, { headers });
  if (total !== 1 || data.length !== 1) return void faults.push(`${path}: is there ${total} times`);
  const kept = await bytesOf(`${service.apiUrl}/v1/messages/${data[0].id}/raw`, headers);
  const sent = raw.toString("latin1").endsWith("\r\n") ? raw : Buffer.concat([raw, Buffer.from("\r\n")]);
  if (!kept?.equals(sent)) faults.push(`${path}: comes back with other bytes`);
  for (const { filename, url, sizeBytes } of data[0].attachments) {
    group.attachments += 1;
    // A separator, a control character, or one that changes text direction.
    if (/[/\\\p{Cc}\u202a-\u202e\u2066-\u2069]/u.test(filename))
      faults.push(`${path}: names a file ${JSON.stringify(filename)}`);
    if ((await bytesOf(url))?.length !== sizeBytes) faults.push(`${path}: can't give ${JSON.stringify(filename)}`);
  }
}

// biome-ignore lint/suspicious/noExplicitAny: what is read is compared at once
async function ask(path: string, init: RequestInit): Promise<any> {
  const response = await fetch(`${service.apiUrl}${path}`, {
    ...init,
    ...(init.method === "POST" && { body: "{}", headers: { ...headers, "content-type": "application/json" } }),
  });
  if (!response.ok) throw new Error(`Cannot ask for ${path}: ${response.status} ${await response.text()}`);
  return response.json();
}

async function bytesOf(url: string, headers: Record<string, string> = {}): Promise<Buffer | undefined> {
  const response = await fetch(url, { headers });
  return response.ok ? Buffer.from(await response.bytes()) : undefined;
}
