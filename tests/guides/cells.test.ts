import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CellPorts, freeCellPorts, startCellBalancer } from "../support/cell-balancer.ts";
import { makeDatabase } from "../support/database.ts";
import { blocksOf, inWords } from "../support/documentation.ts";
import { hasHaproxy } from "../support/haproxy.ts";
import { inboxdHere, type RunningInboxd, runInboxd, startInboxd } from "../support/inboxd.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { type ScriptedDns, scriptedDns } from "../support/scripted-dns.ts";
import { untilSo } from "../support/until.ts";
import { deliver, type WorldDatabase } from "../support/world.ts";

const server = process.env.TEST_DATABASE_URL;
if (server && !hasHaproxy) console.log("Skipped: the guide to cells, since HAProxy is not here");

const house = join(import.meta.dir, "../..");
const page = readFileSync(join(house, "docs/cells.md"), "utf8");
/** The mails that the account has before it moves. */
const mails = 300;

const shared = {
  SIGNING_KEY: "s".repeat(64),
  ENCRYPTION_KEY: "e".repeat(64),
  INGEST_TOKEN: "t".repeat(40),
  ALLOW_PRIVATE_WEBHOOKS: "1",
  SENDS_PER_MINUTE: "0",
  SENDS_PER_DAY: "0",
  COLD_RECIPIENT_DAILY: "0",
  LOG_LEVEL: "info",
};

interface Cell {
  name: string;
  database: WorldDatabase;
  env: Record<string, string>;
  inboxd: RunningInboxd;
}

describe.if(Boolean(server) && hasHaproxy)("The guide to cells", () => {
  const directory = mkdtempSync(join(tmpdir(), "ibx-cells-"));
  const instead: Record<string, string> = {};
  const cells: Cell[] = [];
  let ports: CellPorts;
  let balancer: Bun.Subprocess | undefined;
  let receiver: Receiver;
  /** The DNS of both cells. It knows no name. */
  let dns: ScriptedDns;

  const blocks = () => blocksOf(inWords(page, instead));
  const blockWith = (text: string) => blocks().find((block) => block.text.includes(text))?.text ?? expect.unreachable();

  async function startCell(number: number): Promise<Cell> {
    const name = `c${number}`;
    const settings = blockWith(`# ${directory}/${name}.env`).trim().split("\n").slice(1);
    const database = await makeDatabase(server ?? "");
    const dataDir = join(directory, `data-${name}`);
    const env = {
      ...Object.fromEntries(
        settings.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
      ),
      ...shared,
      DNS_SERVERS: `127.0.0.1:${dns.port}`,
      DATABASE_URL: database.url,
      DATA_DIR: dataDir,
      API_KEY: `key-of-the-first-account-of-${name}`,
    };
    writeFileSync(
      join(directory, `${name}.env`),
      Object.entries(env)
        .map(([key, value]) => `${key}='${value}'\n`)
        .join(""),
    );
    return { name, database, env, inboxd: await startInboxd({ env }) };
  }

  beforeAll(async () => {
    mkdirSync(join(directory, "bin"));
    const quoted = inboxdHere.map((word) => `'${word}'`).join(" ");
    writeFileSync(join(directory, "bin/inboxd"), `#!/bin/sh\nexec ${quoted} "$@"\n`, { mode: 0o755 });
    writeFileSync(join(directory, "bin/systemctl"), `#!/bin/sh\nkill -USR2 "$(cat '${directory}/haproxy.pid')"\n`, {
      mode: 0o755,
    });
    ports = await freeCellPorts();
    Object.assign(instead, {
      "/etc/inboxd": directory,
      "/etc/haproxy": directory,
      "10.0.0.5:3100": `127.0.0.1:${ports.inside[0]}`,
      "10.0.0.5:3101": `127.0.0.1:${ports.inside[1]}`,
      "TRUSTED_PROXIES=10.0.0.5": "TRUSTED_PROXIES=127.0.0.1",
      "https://c0.mail.example.com": `http://127.0.0.1:${ports.api}`,
      "https://c1.mail.example.com": `http://127.0.0.1:${ports.api}`,
    });
    receiver = await startReceiver();
    dns = await scriptedDns(() => ({ code: 3 }));
    cells.push(await startCell(0), await startCell(1));
    balancer = startCellBalancer(
      directory,
      ports,
      cells.map(({ inboxd }) => inboxd),
    );
    writeFileSync(join(directory, "haproxy.pid"), String(balancer.pid));
    await untilSo(async () => (await ask("/healthz", undefined).catch(() => undefined))?.status === 200);
  }, 120_000);

  afterAll(async () => {
    balancer?.kill("SIGTERM");
    await balancer?.exited;
    for (const { inboxd, database } of cells) {
      await inboxd.stop();
      await database.drop();
    }
    await receiver?.close();
    await dns?.close();
    rmSync(directory, { recursive: true, force: true });
  }, 60_000);

  /** A request by way of the balancer. */
  async function ask(path: string, key: string | undefined, init: RequestInit = {}) {
    const headers = { ...(key !== undefined && { authorization: `Bearer ${key}` }), ...(init.headers as object) };
    const response = await fetch(`http://127.0.0.1:${ports.api}${path}`, { ...init, headers });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: text.startsWith("{") ? JSON.parse(text) : {},
    };
  }

  const post = (path: string, key: string, body: object, headers: Record<string, string> = {}) =>
    ask(path, key, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json", ...headers },
    });

  /** Pastes blocks of the guide into one shell. */
  async function paste(...texts: string[]): Promise<void> {
    const PATH = `${join(directory, "bin")}:${process.env.PATH}`;
    const child = Bun.spawn(["bash", "-euc", texts.join("\n")], {
      cwd: directory,
      env: { PATH, HOME: directory },
      stdout: "pipe",
      stderr: "pipe",
    });
    const said = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    expect([await child.exited, ...said]).toEqual([0, expect.anything(), ""]);
  }

  /** The Message-IDs of the mail in the sandboxes of both cells. */
  const inSandboxes = () =>
    cells.flatMap(({ env }) => {
      const sandbox = join(env.DATA_DIR ?? "", "sandbox");
      const names = existsSync(sandbox) ? readdirSync(sandbox).filter((name) => name.endsWith(".eml")) : [];
      return names.map((name) => /^Message-ID: <(.*)@/im.exec(readFileSync(join(sandbox, name), "latin1"))?.[1] ?? "");
    });

  /** The ids of the account's events of mail behind a place of the log. */
  async function eventsBehind(after: string, key: string): Promise<string[]> {
    const types = "message.received,message.sent";
    const { body } = await ask(`/v1/events?types=${types}&limit=100&after=${after}`, key);
    const ids = body.data.map(({ event_id }: { event_id: string }) => event_id);
    return ids.length === 0 ? [] : [...ids, ...(await eventsBehind(ids.at(-1), key))];
  }

  test("an account moves under load: nothing is lost, nothing comes twice", async () => {
    const [old, next] = cells;
    if (old === undefined || next === undefined) return expect.unreachable();
    const created = await runInboxd(["account", "create", "initech", "--json"], { env: old.env });
    const { apiKey: key } = JSON.parse(created.stdout) as { apiKey: string };
    expect(key).toStartWith("ibx_00");
    const { body: inbox } = await post("/v1/inboxes", key, { username: "ada" });
    const { body: other } = await post("/v1/inboxes", old.env.API_KEY ?? "", { username: "other" });
    const hook = await post("/v1/webhooks", key, {
      url: receiver.url,
      eventTypes: ["message.received", "message.sent"],
    });
    expect(hook.status).toBe(201);
    const { token } = (await post("/v1/tokens", key, { access: "read" })).body;

    /** The subjects that were answered with 250, and the messages that were answered with 200. */
    const taken: string[] = [];
    const accepted: string[] = [];
    const refusedAt: number[] = [];
    let numbers = 0;
    const mailOf = (subject: string) =>
      [
        "From: jane@example.com",
        `Subject: ${subject}`,
        `Message-ID: <${subject.replaceAll(" ", ".")}@example.com>`,
        "MIME-Version: 1.0",
        "Content-Type: multipart/mixed; boundary=b",
        "",
        "--b",
        "",
        "Hello",
        "--b",
        "Content-Type: text/plain",
        "Content-Disposition: attachment; filename=a.txt",
        "",
        subject,
        "--b--",
        "",
      ].join("\r\n");
    /** Sends a mail until it is taken. */
    async function handIn(to: string, subject: string, smtpPort: number): Promise<void> {
      for (;;) {
        const reply = await deliver(smtpPort, mailOf(subject), to).catch((error: unknown) => String(error));
        if (reply.startsWith("250")) return void taken.push(subject);
        if (reply.startsWith("5")) throw new Error(`Refused: ${reply}`);
        refusedAt.push(performance.now());
        await untilSo(() => performance.now() - (refusedAt.at(-1) ?? 0) > 200);
      }
    }
    async function sendOne(): Promise<void> {
      numbers += 1;
      const subject = `sent-${numbers}`;
      for (;;) {
        const sent = await post(
          `/v1/inboxes/${inbox.id}/send`,
          key,
          { to: "jane@example.com", subject, body: "Hello" },
          {
            "idempotency-key": subject,
            prefer: "respond-async",
          },
        ).catch(() => undefined);
        if (sent?.status === 200) return void accepted.push(sent.body.messageId);
        if (sent !== undefined && sent.status < 500) throw new Error(`Refused: ${sent.text}`);
        refusedAt.push(performance.now());
        await untilSo(() => performance.now() - (refusedAt.at(-1) ?? 0) > 200);
      }
    }
    const oldPort = ports.smtp[0] ?? 0;
    for (let number = 0; number < mails; number += 20) {
      const subjects = Array.from({ length: 20 }, (_, index) => `before ${number + index}`);
      await Promise.all(subjects.map((subject) => handIn("ada@c0.mail.example.com", subject, oldPort)));
    }
    const firstPage = (await ask(`/v1/inboxes/${inbox.id}/messages?limit=10`, key)).body;
    const secondPage = (await ask(`/v1/inboxes/${inbox.id}/messages?limit=10&cursor=${firstPage.nextCursor}`, key))
      .body;
    const link = new URL(firstPage.data[0].attachments[0].url);
    const before = await eventsBehind("start", key);
    const place = before.at(-1) ?? "";

    let isOver = false;
    const otherReplies: string[] = [];
    const load = [0, 1].map(async (lane) => {
      for (let number = 0; !isOver; number += 1) {
        await handIn("ada@c0.mail.example.com", `during ${lane} ${number}`, oldPort);
        await sendOne();
        // A connection may break while the balancer reads its map again; a reply is always 250.
        const reply = await deliver(oldPort, mailOf(`other ${lane} ${number}`), other.address).catch(() => undefined);
        if (reply !== undefined) otherReplies.push(reply);
      }
    });
    const helper = blockWith("in_cell() {");
    await paste(helper, blockWith("--ahead"));
    const closedAt = performance.now();
    await paste(helper, blockWith("suspend initech moving\n"));
    await paste(helper, blockWith("moved.map"));
    await paste(helper, blockWith("--moved-to"));
    const isHere = async () => (await ask(`/v1/inboxes/${inbox.id}`, key)).body.address === "ada@c1.mail.example.com";
    await untilSo(isHere);
    const takenBefore = taken.length;
    await untilSo(() => taken.length > takenBefore);
    const closedMs = performance.now() - closedAt;
    isOver = true;
    await Promise.all(load);

    // The contract allows a minute. On a busy machine the commands themselves take long, so it is printed alone.
    console.log(`The account was closed for ${(closedMs / 1000).toFixed(1)} s; refusals: ${refusedAt.length}`);
    expect(new Set(otherReplies.map((reply) => reply.slice(0, 3)))).toEqual(new Set(["250"]));
    const all: { subject: string; direction: string; id: string; status: string }[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const { body } = await ask(`/v1/inboxes/${inbox.id}/messages?limit=100${cursor && `&cursor=${cursor}`}`, key);
      all.push(...body.data);
      cursor = body.nextCursor;
    }
    const inbound = all.filter(({ direction }) => direction === "inbound").map(({ subject }) => subject);
    expect(inbound.toSorted()).toEqual(taken.toSorted());
    const outbound = all.filter(({ direction }) => direction === "outbound").map(({ id }) => id);
    expect(outbound.toSorted()).toEqual(accepted.toSorted());
    await untilSo(() => inSandboxes().length >= accepted.length);
    expect(inSandboxes().toSorted()).toEqual(accepted.toSorted());

    // Its key, a token, a cursor, a link and a place of the log of before are good.
    const again = (await ask(`/v1/inboxes/${inbox.id}/messages?limit=10&cursor=${firstPage.nextCursor}`, key)).body;
    expect(again.data.map(({ id }: { id: string }) => id)).toEqual(secondPage.data.map(({ id }: { id: string }) => id));
    expect((await ask(`/v1/inboxes/${inbox.id}`, token)).status).toBe(200);
    const file = await ask(`${link.pathname}${link.search}`, undefined);
    expect([file.status, file.text]).toEqual([200, firstPage.data[0].subject]);
    const wanted = taken.length + accepted.length;
    await untilSo(async () => before.length + (await eventsBehind(place, key)).length === wanted);
    expect([...before, ...(await eventsBehind(place, key))]).toEqual(await eventsBehind("start", key));
    await untilSo(() => receiver.requests.length >= wanted);
    const delivered = receiver.requests.map(({ body }) => JSON.parse(body).event_id);
    expect([delivered.length, new Set(delivered).size]).toEqual([wanted, wanted]);
  }, 300_000);
});
