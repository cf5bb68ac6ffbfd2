import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { examples } from "../../src/commands/examples.ts";
import { makeDatabase } from "../support/database.ts";
import { drawn, pdfOf } from "../support/documents/pdf.ts";
import { inboxdHere, type RunningInboxd, runInboxd, startInboxd } from "../support/inboxd.ts";
import { inData } from "../support/raw-smtp.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { type ScriptedDns, scriptedDns } from "../support/scripted-dns.ts";
import { untilAnswered } from "../support/until.ts";

/** What the help of each command ends with is tried as its readers will try it: by pasting it into a shell. */
interface Help {
  words: string;
  text: string;
  /** The lines at its end. */
  examples: string[];
}

const helps = await helpsBelow([]);
const lines = [...new Set(helps.flatMap(({ examples }) => examples))];
/** What takes away comes last. */
const inOrder = [...lines.filter((line) => !takesAway(line)), ...lines.filter(takesAway)];

async function helpsBelow(words: readonly string[]): Promise<Help[]> {
  const { stdout: text } = await runInboxd([...words, "--help"]);
  // The commands stand in groups, each with a heading of its own.
  const groups = text.split("\n\n").filter((part) => /^(?!Usage|Arguments|Options|Examples)[^\n]+:\n/.test(part));
  const below = groups
    .flatMap((group) => Array.from(group.matchAll(/^ {2}([a-z][a-z-]*)/gm), ([, name = ""]) => name))
    .filter((name) => name !== "help");
  const ending = /\n\nExamples:\n((?: {2}.+\n)+)$/.exec(text)?.[1] ?? "";
  const examples = ending.split("\n").flatMap((line) => (line === "" ? [] : [line.trim()]));
  const further = await Promise.all(below.map((name) => helpsBelow([...words, name])));
  return [{ words: ["inboxd", ...words].join(" "), text, examples }, ...further.flat()];
}

function takesAway(line: string): boolean {
  return / (?:delete|remove|revoke|cancel)\b/.test(line);
}

test("the help shows each command that has examples", () => {
  const shown = helps.map(({ words }) => words.replace(/^inboxd /, ""));
  expect(shown.toSorted()).toEqual(Object.keys(examples).toSorted());
});

test.each(helps.map(({ words, ...help }) => [words, help] as const))(
  "the help of %s ends with an example or two of it",
  (words, { examples: own }) => {
    expect(own.length).toBeWithin(1, 3);
    for (const example of own) expect(example).toContain(words);
  },
);

const directory = mkdtempSync(join(tmpdir(), "ibx-examples-"));
const server = process.env.TEST_DATABASE_URL;
const database = server ? await makeDatabase(server) : undefined;
let inboxd: RunningInboxd;
let receiver: Receiver;
/** The DNS of the mails that are authenticated. It knows no name. */
let dns: ScriptedDns;
/** What stands in an example, and what a reader would put there. */
let ones: Record<string, string>;

beforeAll(async () => {
  mkdirSync(join(directory, "bin"));
  const quoted = inboxdHere.map((word) => `'${word}'`).join(" ");
  writeFileSync(join(directory, "bin/inboxd"), `#!/bin/sh\nexec ${quoted} "$@"\n`, { mode: 0o755 });
  writeFileSync(join(directory, "mail.eml"), "From: jane@example.com\nSubject: Hello\n\nHello\n");
  dns = await scriptedDns(() => ({ code: 3 }));
  receiver = await startReceiver();
  inboxd = await startInboxd({ cwd: directory, env: { DATABASE_URL: database?.url } });
  await inboxd.request("POST", "/v1/inboxes", { username: "ada" });
  await inboxd.request("PUT", "/v1/webhook", { url: receiver.url });
  const client = await inData(inboxd.smtpPort);
  const invoice = [
    "From: jane@example.com",
    "Subject: Invoice",
    "Content-Type: multipart/mixed; boundary=b",
    "",
    "--b",
    "",
    "Hello",
    "--b",
    "Content-Type: application/pdf",
    "Content-Disposition: attachment; filename=invoice.pdf",
    "",
    ...pdfOf([drawn(["Invoice"])])
      .toString("latin1")
      .split("\n"),
    "--b--",
    ".",
  ];
  expect(await client.ask(invoice.join("\r\n"))).toStartWith("250");
  const rule = { direction: "inbound", action: "block", pattern: "blocked.example" };
  await inboxd.request("POST", "/v1/rules", rule);
  for (const command of ["MAIL FROM:<eve@blocked.example>", "RCPT TO:<ada@inbox.localhost>", "DATA"])
    expect(await client.ask(command)).toMatch(/^[23]/);
  expect(await client.ask("From: eve@blocked.example\r\n\r\nBuy\r\n.")).toStartWith("250");
  const [blocked] = ((await (await inboxd.request("GET", "/v1/quarantine")).json()) as { data: { id: string }[] }).data;
  await client.ask("QUIT");
  const { event_id, thread_id, inbox_id, message } = JSON.parse((await receiver.request(1)).body);
  const key = JSON.parse((await runInboxd(["key", "create", "--json"], service())).stdout);
  const added = await inboxd.request("POST", "/v1/webhooks", { url: receiver.url });
  const endpoint = (await added.json()) as { id: string };
  const waiting = await waitingDelivery();
  ones = {
    "evt_01jpw7z1x2e9a8r5k3m0t6vqhm.whk_01jpw7z1x2e9a8r5k3m0t6vqhn": waiting,
    evt_01jpw7z1x2e9a8r5k3m0t6vqhd: event_id,
    msg_01jpw7z1x2e9a8r5k3m0t6vqhd: message.id,
    ...(await newDrafts(inbox_id)),
    ...(await newWaitingMail()),
    thr_01jpw7z1x2e9a8r5k3m0t6vqhe: thread_id,
    qua_01jpw7z1x2e9a8r5k3m0t6vqhk: blocked?.id ?? "",
    key_01jpw7z1x2e9a8r5k3m0t6vqhd: key.id,
    whk_01jpw7z1x2e9a8r5k3m0t6vqhg: endpoint.id,
    "https://example.com/hooks/inboxd": receiver.url,
    "https://example.com/hooks/desk": receiver.url,
    "https://example.com/hooks/acme": receiver.url,
    "http://127.0.0.1:8080/hook": receiver.url,
  };
});

afterAll(async () => {
  inboxd.signal("SIGKILL");
  await inboxd.exited;
  await receiver.close();
  await dns.close();
  await database?.drop();
  rmSync(directory, { recursive: true });
});

/** Beside the service that runs. */
function service() {
  const { port } = new URL(inboxd.api);
  const env = { DATABASE_URL: database?.url, PORT: port, SMTP_PORT: String(inboxd.smtpPort) };
  const scripts = {
    INBOXD_URL: new URL(inboxd.api).origin,
    INBOXD_API_KEY: inboxd.apiKey,
    INBOXD_SMTP: `${inboxd.smtpPort}`,
  };
  return { cwd: directory, env: { ...env, ...scripts } };
}

/** Three drafts, by the ids of the examples. */
async function newDrafts(inboxId: string): Promise<Record<string, string>> {
  const made: [string, string][] = [];
  for (const end of ["b", "c", "f"]) {
    const body = { to: "jane@example.com", subject: "Hello", body: "Hello Jane" };
    const answer = await fetch(new URL(`/v1/inboxes/${inboxId}/drafts`, inboxd.api), {
      method: "POST",
      headers: {
        authorization: `Bearer ${inboxd.apiKey}`,
        "content-type": "application/json",
        "idempotency-key": `draft-${end}`,
      },
      body: JSON.stringify(body),
    });
    made.push([`msg_01jpw7z1x2e9a8r5k3m0t6vqh${end}`, ((await answer.json()) as { id: string }).id]);
  }
  return Object.fromEntries(made);
}

/** Two mails of an agent that wait for approval, by the ids of the examples. */
async function newWaitingMail(): Promise<Record<string, string>> {
  const made = await inboxd.request("POST", "/v1/inboxes", { username: "agent", sendPolicy: "approve_all" });
  const { id: inboxId } = (await made.json()) as { id: string };
  const { key } = (await (await inboxd.request("POST", "/v1/keys", { access: "agent" })).json()) as { key: string };
  const waiting: [string, string][] = [];
  for (const end of ["h", "j"]) {
    const answer = await fetch(new URL(`/v1/inboxes/${inboxId}/send`, inboxd.api), {
      method: "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        "idempotency-key": `waits-${end}`,
      },
      body: JSON.stringify({ to: "jane@example.com", subject: `Offer ${end}`, body: "Hello Jane" }),
    });
    waiting.push([`msg_01jpw7z1x2e9a8r5k3m0t6vqh${end}`, ((await answer.json()) as { messageId: string }).messageId]);
  }
  return Object.fromEntries(waiting);
}

/** Of an event for an endpoint where nobody listens any more: its id in the outbox. */
async function waitingDelivery(): Promise<string> {
  const away = await startReceiver();
  await away.close();
  await inboxd.request("POST", "/v1/webhooks", { url: away.url, eventTypes: ["inbox.created"] });
  await inboxd.request("POST", "/v1/inboxes", { username: "patience" });
  return untilAnswered(async () => {
    const answer = await inboxd.request("GET", "/v1/outbox?kind=webhook&state=waiting");
    const { data } = (await answer.json()) as { data: { id: string }[] };
    return data[0]?.id;
  });
}

/** On a machine on which there is nothing yet but an export. */
function elsewhere() {
  const cwd = mkdtempSync(join(directory, "elsewhere-"));
  if (Bun.file(join(directory, "everything.jsonl")).size > 0)
    copyFileSync(join(directory, "everything.jsonl"), join(cwd, "everything.jsonl"));
  return { cwd, env: { PORT: "0", SMTP_PORT: "0" } };
}

/** What runs until it is ended, and when it does. */
const endless: Readonly<Record<string, (said: Collected[]) => Promise<unknown>>> = {
  async serve([stdout]) {
    const started = await stdout?.has(/"api":"([^"]+)".*"msg":"started"/);
    return fetch(new URL("/healthz", started?.[1]));
  },
  listen: async ([, stderr]) => stderr?.has(/^Forwarding events/),
  tail: async ([, stderr]) => stderr?.has(/^Events of/),
};
const alone: ReadonlySet<string> = new Set(["serve", "migrate", "import", "demo"]);

describe("Pasted into a shell", () => {
  test.each(inOrder)("%s", async (line) => {
    const name = /\binboxd ([a-z]+)/.exec(line)?.[1] ?? "";
    const { cwd, env } = alone.has(name) || line.includes("--embedded") ? elsewhere() : service();
    const servers = name === "authenticate" ? { DNS_SERVERS: `${dns.address}:${dns.port}` } : {};
    const command = Object.entries(ones).reduce((text, [said, real]) => text.replaceAll(said, real), line);
    const child = Bun.spawn(["bash", "-c", command], {
      cwd,
      env: { ...env, ...servers, HOME: directory, PATH: `${join(directory, "bin")}:${process.env.PATH}` },
      stdout: "pipe",
      stderr: "pipe",
      // A group of its own, so that what the shell starts is ended with it.
      detached: true,
    });
    const said = [collected(child.stdout), collected(child.stderr)];
    const isRunning = endless[name];
    if (isRunning !== undefined) {
      await Promise.race([isRunning(said), child.exited]);
      process.kill(-child.pid, "SIGTERM");
    }
    const [code, ...texts] = await Promise.all([child.exited, ...said.map(({ whole }) => whole)]);
    // The Postgres of the tests flushes nothing to its disk, which doctor rightly finds wrong.
    const isDoctorRight = name === "doctor" && server !== undefined && texts[0]?.includes("fsync=off");
    // The embedded database has no partitions.
    const isRefused = name === "partition" && server === undefined;
    expect([code, texts]).toEqual([isDoctorRight || isRefused ? 1 : 0, texts]);
  });
});

interface Collected {
  /** All that it says, at its end. */
  whole: Promise<string>;
  /** Once it has said something like this. */
  has(part: RegExp): Promise<RegExpExecArray>;
}

function collected(stream: ReadableStream<Uint8Array>): Collected {
  const decoder = new TextDecoder();
  const looks: (() => void)[] = [];
  let text = "";
  const whole = (async () => {
    for await (const piece of stream) {
      text += decoder.decode(piece, { stream: true });
      for (const look of looks) look();
    }
    return text;
  })();
  const has = (part: RegExp) =>
    new Promise<RegExpExecArray>((resolve) => {
      const look = () => {
        const found = part.exec(text);
        if (found !== null) resolve(found);
      };
      looks.push(look);
      look();
    });
  return { whole, has };
}
