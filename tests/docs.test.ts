import { describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, normalize } from "node:path";
import { filesIn, sourcesIn } from "../scripts/sources.ts";
import { statusOf } from "../src/domain/errors.ts";
import { eventTypes } from "../src/domain/events/event-types.ts";
import { webhookHeaders, webhookSigner } from "../src/standards/signature.ts";
import { makeDatabase } from "./support/database.ts";
import {
  answerFaults,
  blocksOf,
  callsServer,
  inWords,
  type KnownIds,
  type Pasted,
  pasteBlocks,
  shells,
} from "./support/documentation.ts";
import { inboxdHere, startInboxd } from "./support/inboxd.ts";
import { startReceiver } from "./support/receiver.ts";
import { untilAnswered } from "./support/until.ts";
import { startWorld } from "./support/world.ts";

const house = join(import.meta.dir, "..");
const written = readdirSync(join(house, "docs")).filter((name) => name.endsWith(".md"));
/** Pages for engineers, which the service does not serve. */
const forEngineers: ReadonlySet<string> = new Set(["adding.md", "fixtures.md", "house.md", "outbox.md"]);
const guides = written.filter((name) => !forEngineers.has(name));
const pages = ["README.md", ...written.map((name) => `docs/${name}`), ...filesIn("docs/decisions")];
const guideOf = (name: string) => `docs/${name}.md`;
const textOf = (page: string) => readFileSync(join(house, page), "utf8");
const hasCurl = Bun.which("curl") !== null;
if (!hasCurl) console.log("Skipped: the curls of the documentation, since this machine has no curl");
for (const name of Object.keys(shells))
  if (Bun.which(name) === null) console.log(`Skipped: the README in ${name}, which is not installed here`);

/** The pages with commands, in reading order. */
const followed = [
  "README.md",
  ...[
    "quickstart",
    "inboxes",
    "receiving",
    "inbound-http",
    "senders",
    "sending",
    "approval",
    "threads",
    "organising",
    "agents",
    "documents",
    "webhooks",
    "events",
    "streams",
    "deliverability",
    "domains",
    "errors",
    "keys",
    "connect",
    "tenants",
    "operators",
    "usage",
  ].map(guideOf),
];

describe.skipIf(!hasCurl)("On one server after its first start", () => {
  test("no other page has a curl", () => {
    const withCurl = pages.filter((page) => blocksOf(textOf(page)).some(({ text }) => /\bcurl /.test(text)));
    expect(withCurl.toSorted()).toEqual(followed.toSorted());
  });

  test.each([
    ["from the first to the last", followed],
    ["from the last to the first", followed.toReversed()],
  ])(
    "the guides can be followed %s, and each answer is what they say",
    async (_, order) => {
      await using server = await startForReaders();
      for (const page of order) expectAsSaid(page, await server.paste(page));
    },
    120_000,
  );

  for (const name of Object.keys(shells))
    test.skipIf(Bun.which(name) === null)(
      `the README's lines can be pasted into ${name}`,
      async () => {
        await using server = await startForReaders();
        const pasted = await server.paste("README.md", name);
        expectAsSaid("README.md", pasted);
        expect(pasted.calls).toHaveLength(10);
      },
      120_000,
    );

  test("the receiver of the README prints the mail of its ten calls", async () => {
    const [block] = blocksOf(textOf("README.md")).filter(({ text }) => text.includes(".listen(8080"));
    await using server = await startForReaders();
    await server.receiver.close();
    const command = block?.text.replace("8080", String(server.receiver.port)).replace(/^bun /, `${process.execPath} `);
    const child = Bun.spawn(["bash", "-c", `exec ${command}`], { stdout: "pipe", stderr: "inherit" });
    const address = `http://127.0.0.1:${server.receiver.port}/`;
    await untilAnswered(() =>
      fetch(address).then(
        ({ ok }) => ok || undefined,
        () => undefined,
      ),
    );
    const { calls } = await server.paste("README.md");
    expect(calls).toHaveLength(10);
    let printed = "";
    for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
      printed += part;
      if (printed.endsWith("\n")) break;
    }
    child.kill();
    expect(JSON.parse(printed)).toMatchObject({ event: "message.received", attempt: 1, message: { subject: "Hi" } });
  });

  test("the start names the documentation, for people and for language models", async () => {
    await using server = await startForReaders();
    const [, page = "", index = ""] = /^ {2}Docs +(\S+), for language models (\S+)$/m.exec(server.printed()) ?? [];
    for (const address of [page, index]) expect([address, (await fetch(address)).status]).toEqual([address, 200]);
  });
});

/** The service as a process after its first start, with a receiver of its webhooks. */
async function startForReaders() {
  const dataDir = mkdtempSync(join(tmpdir(), "ibx-docs-"));
  const postgres = process.env.TEST_DATABASE_URL;
  const database = postgres === undefined ? undefined : await makeDatabase(postgres);
  const receiver = await startReceiver();
  // Long, so that on a slow machine too an answer to a send waits until the mail has gone out.
  const own = { DATA_DIR: dataDir, SEND_WAIT_MS: "30000", RELAY_NOTICES: "generic:a-token-that-only-we-know" };
  const env = { ...own, ...(database && { DATABASE_URL: database.url }) };
  const running = await startInboxd({ env });
  // For the commands that use the database of the service.
  const operator = { DATA_DIR: dataDir, ...(database && { DATABASE_URL: database.url }) };
  const instead = {
    "http://127.0.0.1:3000": running.api.replace(/\/$/, ""),
    "smtp://127.0.0.1:2525": `smtp://127.0.0.1:${running.smtpPort}`,
    "127.0.0.1:8080": `127.0.0.1:${receiver.port}`,
  };
  return {
    async paste(page: string, shell = "bash") {
      const blocks = blocksOf(inWords(textOf(page), instead));
      const client = { INBOXD_API_KEY: running.apiKey ?? "", INBOXD_URL: running.api };
      const env = { ...client, INBOXD_SMTP: `127.0.0.1:${running.smtpPort}`, ...operator };
      return pasteBlocks(blocks, { shell: shells[shell] ?? [], env, inboxd: inboxdHere });
    },
    printed: running.printed,
    receiver,
    async [Symbol.asyncDispose]() {
      await running.stop();
      await receiver.close();
      await database?.drop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** Checks that every call succeeds, and that the answer to the last call of a block is the JSON after it. */
function expectAsSaid(page: string, { blocks, calls }: Pasted): void {
  const known: KnownIds = new Map();
  expect(calls.length).toBeGreaterThan(0);
  for (const [number, { block, program, asked, status, answer, errors }] of calls.entries()) {
    const isLast = calls[number + 1]?.block !== block;
    const next = blocks[blocks.indexOf(block) + 1];
    const said = isLast && next?.language === "json" ? next : undefined;
    const place = `${page}:${block.line}: ${program} ${asked}\n${answer}${errors}`;
    if (program === "inboxd") expect([place, status]).toEqual([place, 0]);
    else if (said?.note) expect([place, status]).toEqual([place, Number(said.note)]);
    else expect([place, Math.floor(status / 100)]).toEqual([place, 2]);
    if (said) expect([place, answerFaults(JSON.parse(said.text), JSON.parse(answer), known)]).toEqual([place, []]);
  }
  const called = new Set(calls.map(({ block }) => block));
  expect(blocks.filter((block) => callsServer(block) && !called.has(block))).toEqual([]);
}

test("an answer that differs from the page is found", () => {
  const [one, two] = ["msg_01jpw7z1x2e9a8r5k3m0t6vqhd", "msg_01jpw7z1x2e9a8r5k3m0t6vqhe"];
  const said = {
    id: one,
    at: "2026-03-21T10:05:00.000Z",
    url: `/m/${one}?expires=1774088700&by=9f…`,
    rows: [{ n: 1 }],
  };
  const came = { id: two, at: "2027-01-01T00:00:00.001Z", url: `/m/${two}?expires=1800000000&by=ab`, rows: [{ n: 1 }] };
  expect(answerFaults(said, came)).toEqual([]);
  expect(answerFaults(said, { ...came, id: one })).toEqual([`#/url is "${came.url}", the page says "${said.url}"`]);
  expect(answerFaults([one, two], [two, two])).toEqual([`#/1 is "${two}", the page says "${two}"`]);
  expect(answerFaults({ n: 1, at: null, rows: [] }, { n: 2, at: "x", rows: [1] })).toEqual([
    "#/n is 2, the page says 1",
    "#/at is string, the page says null",
    "#/rows has 1 entries, the page says 0",
  ]);
  expect(answerFaults({ a: 1, b: 2 }, { b: 2, a: 1 })).toEqual(["# has the fields b, a; the page says a, b"]);
  expect(answerFaults("2026-03-21T10:05:00.000Z", "today")).toHaveLength(1);
});

test("each rule of the contract that a comment cites is there, and each number once", () => {
  const numbers: string[] = [];
  let section = "";
  for (const line of textOf("docs/contract.md").split("\n")) {
    const [, heading] = /^#{2,3} §([\d.]+) /.exec(line) ?? [];
    const [, item] = /^(\d+)\. /.exec(line) ?? [];
    if (heading !== undefined) section = heading;
    const number = heading ?? (item === undefined ? undefined : `${section}.${item}`);
    if (number !== undefined) numbers.push(number);
  }
  expect(numbers.filter((number, index) => numbers.indexOf(number) !== index)).toEqual([]);
  const files = sourcesIn(["src", "sdk/typescript", "tests", "bench", "scripts"]);
  expect(files.length).toBeGreaterThan(500);
  const wrong = files.flatMap((file) =>
    [...textOf(file).matchAll(/contract(?:'s \()? ?((?:§\d+(?:\.\d+)?(?:, )?)+)/g)].flatMap(([, cited = ""]) =>
      [...cited.matchAll(/§([\d.]*\d)/g)].flatMap(([, number = ""]) =>
        numbers.includes(number) ? [] : [`${file} cites §${number}`],
      ),
    ),
  );
  expect(wrong).toEqual([]);
});

test("the table of errors has each code of the service once, with its status, when it comes, and its cure", () => {
  const rows = Array.from(
    textOf("docs/errors.md").matchAll(/^\| (\d{3}) \| `(\w+)` \| (\S.*) \| (\S.*) \|$/gm),
    ([, status, code]) => [code ?? "", Number(status)] as const,
  );
  expect(rows.toSorted()).toEqual(Object.entries(statusOf).toSorted());
});

test.each(pages)("the links of %s lead somewhere", (page) => {
  const files = linksIn(textOf(page)).filter((target) => !/^https?:/.test(target));
  expect(files.filter((target) => !existsSync(join(house, normalize(join(dirname(page), target)))))).toEqual([]);
});

test("the event that the receivers' guide shows is the one that comes", async () => {
  const said = JSON.parse(blocksOf(textOf("docs/events.md")).find(({ language }) => language === "json")?.text ?? "{}");
  await using world = await startWorld({ env: { MAIL_DOMAIN: said.message.to.split("@")[1] } });
  const receiver = await startReceiver();
  await world.api("/v1/webhook", { method: "PUT", body: { url: receiver.url } });
  const username = said.message.to.split("@")[0];
  await world.api("/v1/inboxes", { method: "POST", body: { username, externalId: said.external_id } });
  const { rfc_message_id: id, from, to, subject, body_text: text } = said.message;
  await world.deliver(`Message-ID: ${id}\r\nFrom: ${from}\r\nTo: ${to}\r\nSubject: ${subject}\r\n\r\n${text}\r\n`, to);
  const { body } = await receiver.request(1);
  await receiver.close();
  expect(answerFaults(said, JSON.parse(body))).toEqual([]);
});

test("the JavaScript that verifies a delivery takes ours and no other", async () => {
  const block = blocksOf(textOf("docs/webhooks.md")).find(({ language }) => language === "js");
  const directory = mkdtempSync(join(tmpdir(), "ibx-docs-"));
  const file = join(directory, "verify.mjs");
  await Bun.write(file, block?.text ?? "");
  const { isFromInboxd } = (await import(file)) as {
    isFromInboxd(headers: Record<string, string>, body: string, secret: string, nowMs?: number): boolean;
  };
  rmSync(directory, { recursive: true });
  const secret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD4VOGAZ0ExAm=";
  const sentAt = new Date("2026-03-21T10:05:00.000Z");
  const body = '{"event":"webhook.test"}';
  const headers = await webhookHeaders({ eventId: "evt_1", sentAt, body, signer: await webhookSigner(secret) });
  const nowMs = sentAt.getTime();
  expect(isFromInboxd(headers, body, secret, nowMs)).toBe(true);
  expect(isFromInboxd(headers, `${body} `, secret, nowMs)).toBe(false);
  expect(isFromInboxd(headers, body, `${secret}x`, nowMs)).toBe(false);
  expect(isFromInboxd(headers, body, secret, nowMs + 301_000)).toBe(false);
  expect(isFromInboxd({}, body, secret, nowMs)).toBe(false);
});

/** The index of decisions and its pages, whose links lead out of the service. */
function wholeDecisions(): string {
  const pages = filesIn("docs/decisions").map((path) => textOf(path).replaceAll(/^#/gm, "##"));
  return [textOf("docs/decisions.md"), ...pages]
    .join("\n")
    .replaceAll(/\[([^[\]]*)\]\((?:\.\.|decisions)\/[^)]*\)/g, "$1");
}

function linksIn(page: string): string[] {
  return Array.from(page.matchAll(/\]\(([^)#\s]+)[^)\s]*\)/g), ([, target = ""]) => target);
}

test("the service carries every page for its users, and an index of them for language models", async () => {
  await using world = await startWorld({ env: { MAIL_DOMAIN: "mail.acme.example" } });
  const index = await world.fetch("/llms.txt", { apiKey: null });
  expect([index.status, index.headers.get("content-type")]).toEqual([200, "text/plain; charset=utf-8"]);
  const text = await index.text();
  expect(text).toStartWith("# inboxd\n\n> ");
  const links = Array.from(text.matchAll(/\]\(([^)]+)\)/g), ([, link = ""]) => link);
  const base = world.service.apiUrl.origin;
  const served = guides.map((name) => `${base}/docs/${name}`);
  const whole = ["openapi.json", "skill.md", "llms-full.txt"].map((name) => `${base}/${name}`);
  expect(links.toSorted()).toEqual([...served, ...whole].toSorted());

  for (const name of guides) {
    const page = await world.fetch(`/docs/${name}`, { apiKey: null });
    expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/markdown; charset=utf-8"]);
    const said = await page.text();
    for (const target of linksIn(said)) {
      const address = new URL(target, page.url);
      if (address.origin !== base) continue;
      const { status } = await world.fetch(address.pathname, { apiKey: null });
      expect([name, target, status]).toEqual([name, target, 200]);
    }
    // It is the file to the letter, except the names of the server, and links that lead out of the service.
    const file = inWords(name === "decisions.md" ? wholeDecisions() : textOf(`docs/${name}`), {
      "http://127.0.0.1:3000": base,
      "https://mail.example.com": base,
      "127.0.0.1:2525": `127.0.0.1:${world.service.smtp.port}`,
      "inbox.localhost": "mail.acme.example",
    });
    const kept = said.split("\n").filter((line) => !file.includes(line));
    expect(kept.map((line) => /\bcompose\.yaml\b/.test(line))).toEqual(name === "operations.md" ? [true] : []);
  }
  const all = await (await world.fetch("/llms-full.txt", { apiKey: null })).text();
  for (const name of guides) {
    expect(all).toContain((await (await world.fetch(`/docs/${name}`, { apiKey: null })).text()).trimEnd());
  }
  for (const page of ["none.md", "none", "constructor", "constructor.md", "..%2Fpackage.json", "%zz", "%", "%ff.md"]) {
    const path = `/docs/${page}`;
    expect([path, (await world.fetch(path, { apiKey: null })).status]).toEqual([path, 404]);
  }
  for (const path of ["/docs", ...guides.map((name) => `/docs/${name.replace(/\.md$/, "")}`)]) {
    const page = await world.fetch(path, { apiKey: null });
    expect([path, page.status, page.headers.get("content-type")]).toEqual([path, 200, "text/html; charset=utf-8"]);
  }
  expect((await world.fetch("/docs/viewer.js", { apiKey: null })).status).toBe(200);
});

test.each([
  "queued",
  "deferred",
  "subscribe",
  "retry",
  "retried",
  "status",
  "bounced",
  "rate limit",
  "sandbox",
  "tenant",
])("the word %s, which people search for, is in a guide", (word) => {
  const having = guides.filter((name) => textOf(`docs/${name}`).toLowerCase().includes(word));
  expect(having.filter((name) => !/^(?:contract|decisions|performance)/.test(name))).not.toBeEmpty();
});

test("the guide to events has a row for each type of event", () => {
  const rows = textOf(guideOf("events"))
    .split("\n")
    .filter((line) => line.startsWith("| `"));
  const named = new Set(
    rows.flatMap((row) => Array.from(row.matchAll(/`([a-z]+\.[a-z]+)`/g), ([, type = ""]) => type)),
  );
  expect(eventTypes.filter((type) => !named.has(type))).toEqual([]);
});
