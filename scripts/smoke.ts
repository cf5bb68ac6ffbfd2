/**
 * Tries `dist/inboxd` as an operator gets it: alone, in a directory that holds nothing but traps. On the embedded
 * database, and on Postgres too where TEST_DATABASE_URL names a server.
 */
import { strictEqual as equal } from "node:assert";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { within } from "../src/primitives/within.ts";
import { makeDatabase } from "../tests/support/database.ts";
import { japaneseBill } from "../tests/support/documents/pdf.ts";
import { type RunningInboxd, type RunOptions, runInboxd, startInboxd } from "../tests/support/inboxd.ts";
import { greeted } from "../tests/support/raw-smtp.ts";
import { type Listening, tryListeners, tryToolsWithoutServer } from "./smoke/listeners.ts";
import { deliver, mailOf } from "./smoke/mail.ts";

const binary = join(import.meta.dir, "../dist/inboxd");
if (!existsSync(binary)) throw new Error("Cannot try the binary: there is no dist/inboxd; run `bun run build` first");

let passed = 0;
let failed = 0;

await onEngine("embedded", undefined, { firstMs: 2000, laterMs: 1000 });
const server = process.env.TEST_DATABASE_URL;
if (server === undefined) console.log("Skipped on Postgres: TEST_DATABASE_URL is not set");
else {
  const database = await makeDatabase(server);
  await onEngine("postgres", database.url, { firstMs: 600, laterMs: 600 });
  await database.drop();
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

async function onEngine(engine: string, url: string | undefined, budget: { firstMs: number; laterMs: number }) {
  const directory = mkdtempSync(join(tmpdir(), "ibx-smoke-"));
  await Bun.write(join(directory, "bunfig.toml"), 'preload = ["./there-is-no-such-file.ts"]\n');
  await Bun.write(join(directory, ".env"), "PORT=not-a-port\n");
  const options: RunOptions = { command: [binary], cwd: directory, env: { DATABASE_URL: url } };
  const check = (what: string, work: () => Promise<void>) => counted(`${engine}: ${what}`, work);
  const coldStart = (what: string, { coldStartMs, coldStartCpuMs = 0 }: RunningInboxd, budgetMs: number) =>
    check(
      `cold start, ${what}: ${Math.round(coldStartMs)} ms (${coldStartCpuMs} ms of CPU), budget ${budgetMs} ms`,
      async () => {
        // The limit is for an idle machine; on a busy one only processor time counts.
        equal(coldStartMs < budgetMs || coldStartCpuMs < budgetMs * 1.5, true);
      },
    );

  let inboxId = "";
  let listening: Listening | undefined;
  let kept = 0;
  const key: { apiKey?: string } = {};
  const firstSubjects = ["Through the parser apart", "Hello"];

  await withService(options, "from nothing", async (inboxd) => {
    await coldStart("from nothing", inboxd, budget.firstMs);
    if (inboxd.apiKey !== undefined) key.apiKey = inboxd.apiKey;
    await check("makes an inbox", async () => {
      const answer = await inboxd.request("POST", "/v1/inboxes", { username: "ada" });
      equal(answer.status, 201);
      const inbox = (await answer.json()) as { id: string; address: string };
      equal(inbox.address, "ada@inbox.localhost");
      inboxId = inbox.id;
    });
    await check("answers each failure with a problem", async () => {
      equal(await problem(inboxd.request("GET", "/v1/inboxes", undefined, "ibx_wrong")), "401 unauthorized");
      equal(await problem(inboxd.request("GET", "/v1/nowhere")), "404 not_found");
      equal(await problem(inboxd.request("PATCH", "/v1/inboxes")), "405 method_not_allowed");
      equal(await problem(inboxd.request("POST", "/v1/inboxes", { username: 5 })), "400 validation_error");
      equal(await problem(inboxd.request("POST", "/v1/inboxes", { username: "ada" })), "409 address_taken");
    });
    await check("carries the documentation", async () => {
      const document = (await (await fetch(new URL("/openapi.json", inboxd.api))).json()) as { paths: object };
      equal(Object.hasOwn(document.paths, "/v1/inboxes"), true);
      const viewer = await fetch(new URL("/docs/viewer.js", inboxd.api));
      equal((await viewer.text()).includes("API key"), true);
      const page = await (await fetch(new URL("/docs", inboxd.api))).text();
      equal(page.includes('id="sendEmail"') && page.includes('id="quickstart"'), true);
    });
    await check("carries the console, and the code of each screen", async () => {
      const page = await (await fetch(new URL("/console/", inboxd.api))).text();
      const [script = ""] = /assets\/console-\w+\.js/.exec(page) ?? [];
      const text = await (await fetch(new URL(`/console/${script}`, inboxd.api))).text();
      const names = new Set(text.match(/[\w-]+-\w{8}\.js/g));
      equal(names.size > 10, true);
      for (const name of names) equal((await fetch(new URL(`/console/assets/${name}`, inboxd.api))).status, 200);
    });
    await check("takes mail in, small and big", async () => {
      await deliver(inboxd.smtpPort, mailOf("Hello", "A small mail.\r\n"));
      await deliver(
        inboxd.smtpPort,
        mailOf("Through the parser apart", `${"A long line of a big mail.\r\n".repeat(40_000)}End\r\n`),
      );
      const messages = await messagesOf(inboxd, inboxId);
      equal(JSON.stringify(messages.map(({ subject }) => subject)), JSON.stringify(firstSubjects));
      // Lists truncate a body of this length.
      equal((await messageOf(inboxd, messages[0]?.id ?? "")).bodyText.endsWith("End"), true);
    });
    await check("refuses mail for nobody", async () => {
      const client = await greeted(inboxd.smtpPort);
      await client.ask("MAIL FROM:<jane@example.com>");
      equal((await client.ask("RCPT TO:<nobody@inbox.localhost>")).startsWith("550 5.1.1"), true);
      client.destroy();
    });
    await check("sends, in sandbox mode to itself", async () => {
      const answer = await fetch(new URL(`/v1/inboxes/${inboxId}/send`, inboxd.api), {
        method: "POST",
        headers: {
          authorization: `Bearer ${inboxd.apiKey}`,
          "content-type": "application/json",
          "idempotency-key": "smoke-1",
        },
        body: JSON.stringify({
          to: "bob@example.com",
          subject: "Out",
          body: "Into the sandbox",
          attachments: [{ filename: "bill.pdf", content: japaneseBill().toString("base64") }],
        }),
      });
      equal(answer.status, 200);
      const sent = (await answer.json()) as { status: string; messageId: string };
      equal(sent.status, "sent");
      // PDF.js and its tables of characters are parts of the binary.
      const path = `/v1/messages/${sent.messageId}/attachments/bill.pdf/text`;
      const read = await inboxd.request("GET", path);
      equal(((await read.json()) as { text: string }).text, "請求書");
    });
    await check("answers the command line while it runs", async () => {
      const { code, stdout } = await runInboxd(["account", "list", "--json"], options);
      equal(code, 0);
      equal((JSON.parse(stdout) as { name: string }[])[0]?.name, "default");
    });
    await check("is healthy by its own command", async () => {
      const env = { ...options.env, PORT: new URL(inboxd.api).port };
      equal((await runInboxd(["healthcheck"], { ...options, env })).code, 0);
    });
    listening = await tryListeners({ check, inboxd, inboxId, options });
    kept = await countReceived(inboxd);
  });

  await withService(
    { ...options, env: { ...options.env } },
    "again",
    async (inboxd) => {
      await coldStart("again", inboxd, budget.laterMs);
      await check("still has the inbox and its mail after a restart", async () => {
        equal((await inboxd.request("GET", `/v1/inboxes/${inboxId}`, undefined, key.apiKey)).status, 200);
        equal(await countReceived(inboxd), kept);
      });
      await check("goes on with a stream where it was cut off", async () => listening?.goOn(inboxd));
      await check("keeps what it acknowledged when it is killed", async () => {
        await deliver(inboxd.smtpPort, mailOf("Last words", "Before the end.\r\n"));
        inboxd.signal("SIGKILL");
        await inboxd.exited;
      });
    },
    "killed",
  );

  await withService(options, "after a crash", async (inboxd) => {
    await check("has it when it comes back", async () => {
      equal((await messagesOf(inboxd, inboxId, key.apiKey))[0]?.subject, "Last words");
    });
  });
  if (url === undefined) await check("gives a model an address without a server", () => tryToolsWithoutServer(options));
  rmSync(directory, { recursive: true });

  async function countReceived(inboxd: RunningInboxd): Promise<number> {
    const messages = await messagesOf(inboxd, inboxId, key.apiKey);
    return messages.filter(({ direction }) => direction === "inbound").length;
  }

  async function withService(
    given: RunOptions,
    what: string,
    work: (inboxd: RunningInboxd) => Promise<void>,
    end = "stopped",
  ) {
    let inboxd: RunningInboxd | undefined;
    await check(`starts ${what}`, async () => {
      inboxd = await startInboxd(given);
    });
    if (inboxd === undefined) return;
    const running = inboxd;
    await work(running);
    if (end === "killed") return;
    await check("ends with code 0 on SIGTERM", async () => equal(await running.stop(), 0));
  }
}

async function counted(what: string, work: () => Promise<void>): Promise<void> {
  try {
    await within(60_000, work(), () => {
      throw new Error("nothing came of it within a minute");
    });
    passed += 1;
    console.log(`ok      ${what}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  ${what}\n        ${error instanceof Error ? error.message : error}`);
  }
}

async function problem(answer: Promise<Response>): Promise<string> {
  const { status, code } = (await (await answer).json()) as { status: number; code: string };
  return `${status} ${code}`;
}

interface Message {
  id: string;
  subject: string;
  bodyText: string;
  direction: string;
}

async function messagesOf(inboxd: RunningInboxd, inboxId: string, key?: string): Promise<Message[]> {
  const answer = await inboxd.request("GET", `/v1/inboxes/${inboxId}/messages`, undefined, key);
  equal(answer.status, 200);
  return ((await answer.json()) as { data: Message[] }).data;
}

async function messageOf(inboxd: RunningInboxd, id: string): Promise<Message> {
  const answer = await inboxd.request("GET", `/v1/messages/${id}`);
  equal(answer.status, 200);
  return (await answer.json()) as Message;
}
