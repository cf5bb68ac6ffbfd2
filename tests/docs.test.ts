import { describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, normalize } from "node:path";
import { statusOf } from "../src/domain/errors.ts";
import { webhookHeaders, webhookSigner } from "../src/standards/signature.ts";
import { blocksOf, runPage, shapeFaults } from "./support/documentation.ts";
import { startReceiver } from "./support/receiver.ts";
import { startWorld } from "./support/world.ts";

/** What the documentation says is tried as its readers will try it: by pasting it into a shell. */
const house = join(import.meta.dir, "..");
const written = readdirSync(join(house, "docs")).filter((name) => name.endsWith(".md"));
/** For who works on the house, not with the service. */
const forEngineers: ReadonlySet<string> = new Set(["house.md", "outbox.md"]);
const guides = written.filter((name) => !forEngineers.has(name));
const pages = ["README.md", ...written.map((name) => `docs/${name}`)];
const textOf = (page: string) => readFileSync(join(house, page), "utf8");
const withCurl = pages.filter((page) => blocksOf(textOf(page)).some(({ text }) => /\bcurl /.test(text)));

const hasCurl = Bun.which("curl") !== null;
if (!hasCurl) console.log("Skipped: the curls of the documentation, since this machine has no curl");

describe.skipIf(!hasCurl)("Every curl", () => {
  test.each(withCurl)("of %s works as printed, and answers what the page says", async (page) => {
    await using world = await startWorld();
    const receiver = await startReceiver();
    const blocks = blocksOf(textOf(page));
    const ran = await runPage(blocks, {
      env: { INBOXD_API_KEY: world.apiKey },
      instead: {
        "http://127.0.0.1:3000": world.service.apiUrl.origin,
        "smtp://127.0.0.1:2525": `smtp://127.0.0.1:${world.smtpPort}`,
        "127.0.0.1:8080": `127.0.0.1:${receiver.port}`,
      },
    });
    await receiver.close();
    expect(ran.length).toBeGreaterThan(0);
    for (const [number, { block, command, status, answer, errors }] of ran.entries()) {
      const isLast = ran[number + 1]?.block !== block;
      const next = blocks[blocks.indexOf(block) + 1];
      const said = isLast && next?.language === "json" ? next : undefined;
      const place = `${page}:${block.line}: ${command}\n${answer}${errors}`;
      if (said?.note) expect([place, status]).toEqual([place, Number(said.note)]);
      else expect([place, Math.floor(status / 100)]).toEqual([place, 2]);
      if (said) expect([place, shapeFaults(JSON.parse(said.text), JSON.parse(answer))]).toEqual([place, []]);
    }
  });
});

test("an answer of another shape is seen", () => {
  const said = { id: "a", rows: [{ n: 1, at: null }] };
  expect(shapeFaults(said, { id: "b", rows: [{ n: 2, at: null }] })).toEqual([]);
  expect(shapeFaults(said, { id: 1, rows: [{ n: 2, at: "x" }, { n: 1 }], more: 0 })).toEqual([
    "#/id is number, the page says string",
    "#/rows/0/at is string, the page says null",
    "#/rows/1/at is missing",
    "#/more is not on the page",
  ]);
  expect(shapeFaults(said, { id: "b", rows: [] })).toEqual(["#/rows is empty"]);
});

test("the table of errors has each code of the service once, with its status, when it comes, and its cure", () => {
  const rows = Array.from(
    textOf("docs/errors.md").matchAll(/^\| (\d{3}) \| `(\w+)` \| (\S.*) \| (\S.*) \|$/gm),
    ([, status, code]) => [code ?? "", Number(status)] as const,
  );
  expect(rows.toSorted()).toEqual(Object.entries(statusOf).toSorted());
});

test.each(pages)("the links of %s lead somewhere", (page) => {
  const targets = Array.from(textOf(page).matchAll(/\]\(([^)#\s]+)\)/g), ([, target = ""]) => target);
  const files = targets.filter((target) => !/^https?:/.test(target));
  expect(files.filter((target) => !existsSync(join(house, normalize(join(dirname(page), target)))))).toEqual([]);
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

test("the service carries every page for its users, and an index of them for language models", async () => {
  await using world = await startWorld();
  const index = await world.fetch("/llms.txt", { apiKey: null });
  expect([index.status, index.headers.get("content-type")]).toEqual([200, "text/plain; charset=utf-8"]);
  const text = await index.text();
  expect(text).toStartWith("# inboxd\n\n> ");
  const links = Array.from(text.matchAll(/\]\(([^)]+)\)/g), ([, link = ""]) => link);
  const base = world.service.apiUrl.origin;
  const served = guides.map((name) => `${base}/docs/${name}`);
  expect(links.toSorted()).toEqual([...served, `${base}/openapi.json`].toSorted());

  for (const name of guides) {
    const page = await world.fetch(`/docs/${name}`, { apiKey: null });
    expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/markdown; charset=utf-8"]);
    expect(await page.text()).toBe(textOf(`docs/${name}`));
  }
  for (const page of ["none.md", "quickstart", "constructor.md", "..%2Fpackage.json", "%zz", "%", "%ff.md"]) {
    const path = `/docs/${page}`;
    expect([path, (await world.fetch(path, { apiKey: null })).status]).toEqual([path, 404]);
  }
  // The page for browsers stays as it was.
  expect((await world.fetch("/docs", { apiKey: null })).headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect((await world.fetch("/docs/viewer.js", { apiKey: null })).status).toBe(200);
});
