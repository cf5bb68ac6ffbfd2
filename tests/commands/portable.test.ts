import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import {
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ControlListener, listenAt } from "../../src/control/socket.ts";
import { lockDirectory } from "../../src/database/directory-lock.ts";
import { makeDatabase } from "../support/database.ts";
import { inboxdHere, runInboxd, startInboxd } from "../support/inboxd.ts";
import { greeted, inData } from "../support/raw-smtp.ts";
import { until } from "../support/until.ts";

const directory = mkdtempSync(join(tmpdir(), "ibx-portable-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const server = process.env.TEST_DATABASE_URL;
const mails = server ? 1_000 : 60;

test(`a service with ${mails} mails is exported while it runs, and reads back equal from another database`, async () => {
  const key = "key-of-both-services-in-this-test";
  const database = server ? await makeDatabase(server) : undefined;
  const from = { env: { DATA_DIR: join(directory, "from"), API_KEY: key } };
  const to = { env: { DATA_DIR: join(directory, "to"), API_KEY: key, DATABASE_URL: database?.url } };
  const file = join(directory, "everything.jsonl");

  const old = await startInboxd(from);
  const inbox = (await (await old.request("POST", "/v1/inboxes", { username: "ada" })).json()) as { id: string };
  const client = await greeted(old.smtpPort);
  await client.ask("EHLO x");
  for (let number = 1; number <= mails; number += 1) {
    for (const line of ["MAIL FROM:<jane@example.com>", "RCPT TO:<ada@inbox.localhost>", "DATA"])
      await client.ask(line);
    expect(await client.ask(`${mailNumber(number)}\r\n.`)).toStartWith("250");
  }
  await client.ask("QUIT");
  const before = await allOf(old, inbox.id);
  expect(before).toHaveLength(mails);
  const exported = await runInboxd(["export", file, "--json"], from);
  expect(exported).toMatchObject({ code: 0, stderr: "" });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  await old.stop();

  const imported = await runInboxd(["import", file, "--json"], to);
  expect(imported).toMatchObject({ code: 0, stderr: "" });
  expect(JSON.parse(imported.stdout).rows).toBe(JSON.parse(exported.stdout).rows);
  const moved = await startInboxd(to);
  expect(await allOf(moved, inbox.id)).toEqual(before);
  await moved.stop();
  await database?.drop();
}, 120_000);

test("an account is exported while its service runs, and imported beside the account of another one", async () => {
  const to = await makeDatabaseHere();
  const from = { env: { DATA_DIR: join(directory, "of-two") } };
  const target = { env: { DATA_DIR: join(directory, "beside"), DATABASE_URL: to?.url } };
  const file = join(directory, "acme.jsonl");
  const old = await startInboxd(from);
  const { stdout } = await runInboxd(["account", "create", "acme", "--json"], from);
  const { apiKey } = JSON.parse(stdout) as { apiKey: string };
  const unknown = await runInboxd(["export", file, "--account", "nobody"], from);
  expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('there is none named "nobody"') });
  expect(await runInboxd(["export", file, "--account", "acme"], from)).toMatchObject({ code: 0, stderr: "" });
  await old.stop();

  await (await startInboxd(target)).stop();
  const whole = await runInboxd(["import", file], target);
  expect(whole).toMatchObject({ code: 1, stderr: expect.stringContaining("import it with --beside") });
  expect(await runInboxd(["import", file, "--beside"], target)).toMatchObject({ code: 0, stderr: "" });
  const taken = await runInboxd(["import", file, "--beside"], target);
  expect(taken).toMatchObject({ code: 1, stderr: expect.stringContaining("account name acme") });
  const moved = await startInboxd(target);
  const headers = { authorization: `Bearer ${apiKey}` };
  expect(await (await fetch(new URL("/v1/account", moved.api), { headers })).json()).toMatchObject({ name: "acme" });
  await moved.stop();
  await to?.drop();
}, 120_000);

test("an account moves in two exports, and is in the other service after the second one alone", async () => {
  const to = await makeDatabaseHere();
  const from = { env: { DATA_DIR: join(directory, "in-two-steps") } };
  const target = { env: { DATA_DIR: join(directory, "gets-two"), DATABASE_URL: to?.url } };
  const [first, changes] = [join(directory, "first.jsonl"), join(directory, "changes.jsonl")];
  const old = await startInboxd(from);
  const { apiKey } = JSON.parse((await runInboxd(["account", "create", "acme", "--json"], from)).stdout);
  const rowsOf = async (words: string[], options: typeof from) => {
    const { code, stdout, stderr } = await runInboxd([...words, "--json"], options);
    expect([code, stderr]).toEqual([0, ""]);
    return JSON.parse(stdout).rows as number;
  };
  const whole = await rowsOf(["export", first, "--account", "acme"], from);
  expect((await old.request("POST", "/v1/inboxes", { username: "late" }, apiKey)).status).toBe(201);
  const changed = await rowsOf(["export", changes, "--account", "acme", "--after", first], from);
  expect(changed).toBeGreaterThan(0);
  await old.stop();

  await (await startInboxd(target)).stop();
  expect(await rowsOf(["import", first, "--beside", "--ahead"], target)).toBe(whole);
  const accounts = async () => JSON.parse((await runInboxd(["account", "list", "--json"], target)).stdout);
  expect(await accounts()).not.toContainEqual(expect.objectContaining({ name: "acme" }));
  expect(await rowsOf(["import", changes, "--beside"], target)).toBe(changed);
  expect(await accounts()).toContainEqual(expect.objectContaining({ name: "acme", inboxCount: 1 }));
  for (const [words, why] of [
    [["export", join(directory, "x"), "--after", first], "--after needs --account"],
    [["export", join(directory, "x"), "--account", "acme", "--after", join(directory, "none")], "ENOENT"],
    [["import", first, "--ahead"], "--ahead and --undo need --beside"],
    [["import", first, "--beside", "--ahead", "--undo"], "either --ahead or --undo"],
  ] as const) {
    const { code, stderr } = await runInboxd(words, from);
    expect([code, stderr]).toEqual([
      why === "ENOENT" ? 1 : 2,
      expect.stringContaining(why === "ENOENT" ? "none" : why),
    ]);
  }
  await to?.drop();
}, 120_000);

const makeDatabaseHere = async () => (server ? makeDatabase(server) : undefined);

test("an export writes into nothing that is there, neither a file nor a link, and leaves it as it was", async () => {
  const here = mkdtempSync(join(directory, "there-"));
  const other = join(here, "other");
  const env = { DATA_DIR: join(here, "data") };
  writeFileSync(other, "of somebody else");
  for (const [name, makes] of [
    ["file", (path: string) => writeFileSync(path, "")],
    ["link", (path: string) => symlinkSync(other, path)],
    ["dangling", (path: string) => symlinkSync(join(here, "nowhere"), path)],
  ] as const) {
    for (const taken of [join(here, name), join(here, `${name}-begun.unfinished`)]) {
      makes(taken);
      const { code, stderr } = await runInboxd(["export", taken.replace(".unfinished", "")], { env });
      expect([code, stderr]).toEqual([1, expect.stringContaining(`Cannot export: ${taken} already exists`)]);
      expect(lstatSync(taken).isSymbolicLink()).toBe(name !== "file");
    }
  }
  expect(readFileSync(other, "utf8")).toBe("of somebody else");
  expect(existsSync(join(here, "nowhere"))).toBe(false);
}, 60_000);

/** Each seventh answers one before it, each fifth has a file. */
function mailNumber(number: number): string {
  const reply = number % 7 === 0 ? `In-Reply-To: <${number - 3}@x.example>\r\n` : "";
  const head = `From: Jane <jane@example.com>\r\nMessage-ID: <${number}@x.example>\r\n${reply}Subject: Number ${number}`;
  if (number % 5 > 0) return `${head}\r\n\r\nGrüße ${number}`;
  return [
    `${head}\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n`,
    "--b\r\nContent-Type: text/plain; charset=utf-8\r\n",
    `With a file ${number}`,
    '--b\r\nContent-Type: application/pdf; name="a b.pdf"\r\nContent-Transfer-Encoding: base64\r\n',
    btoa(`%PDF ${number}`),
    "--b--",
  ].join("\r\n");
}

type Running = Awaited<ReturnType<typeof startInboxd>>;

interface Listed {
  id: string;
  attachments: { url: string; expiresAt: string }[];
}

/** Every message as the API shows it, with its raw source and the bytes of its files in place of their addresses. */
async function allOf(running: Running, inboxId: string): Promise<unknown[]> {
  const all: unknown[] = [];
  let cursor: string | null = "";
  while (cursor !== null) {
    const after: string = cursor === "" ? "" : `&cursor=${cursor}`;
    const answer = await running.request("GET", `/v1/inboxes/${inboxId}/messages?limit=100${after}`);
    const page = (await answer.json()) as { data: Listed[]; nextCursor: string | null };
    for (const message of page.data) {
      const raw = await (await running.request("GET", `/v1/messages/${message.id}/raw`)).text();
      const files = message.attachments.map(async ({ url, expiresAt: _, ...shown }) => {
        const { pathname, search } = new URL(url);
        return { ...shown, text: await (await fetch(`${new URL(running.api).origin}${pathname}${search}`)).text() };
      });
      all.push({ ...message, attachments: await Promise.all(files), raw });
    }
    cursor = page.nextCursor;
  }
  return all;
}

test("a file that is no export is refused with code 1", async () => {
  const file = join(directory, "no-export");
  await Bun.write(file, '{"a":1}\n');
  const refused = await runInboxd(["import", file], { env: { DATA_DIR: join(directory, "empty") } });
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain("Cannot read export: the file is damaged, it is not an export of inboxd");
});

describe.skipIf(server !== undefined)("An export of a running service", () => {
  const dataDir = join(directory, "running");
  /** A full disk as far as this service can tell: see `withRoomFor`. */
  const command = ["sh", "-c", 'trap "" XFSZ; exec "$@"', "sh", ...inboxdHere];
  let service: Running;
  beforeAll(async () => {
    service = await startInboxd({ command, env: { DATA_DIR: dataDir } });
    await service.request("POST", "/v1/inboxes", { username: "ada" });
    expect(await deliver(largeMail())).toStartWith("250");
  }, 60_000);
  afterAll(async () => {
    expect(await service.stop()).toBe(0);
  });

  test("blocks nobody when its reader stops in the middle, and is complete all the same", async () => {
    const reader = await readExport(dataDir);
    reader.pause();
    const inbox = await service.request("POST", "/v1/inboxes", { username: "made-meanwhile" });
    expect(inbox.status).toBe(201);
    expect(await deliver("Subject: While somebody reads\r\n\r\nHello")).toStartWith("250");
    reader.resume();
    const { sizeBytes, body } = await reader.whole();
    expect(sizeBytes).toBeGreaterThan(10e6);
    expect(body.length).toBe(sizeBytes);
    expect(body).not.toContain("made-meanwhile");
    const last = JSON.parse(body.slice(body.lastIndexOf("\n", body.length - 2) + 1));
    const sha256 = new Bun.CryptoHasher("sha256").update(body.slice(0, body.lastIndexOf('{"end"'))).digest("hex");
    expect(last).toMatchObject({ end: true, sha256 });
    await untilNoSpoolIsOpen();
  }, 30_000);

  test("leaves nothing behind when its reader goes away, in the middle or before it begins", async () => {
    const reader = await readExport(dataDir);
    expect(openSpools()).toBeGreaterThan(0);
    reader.destroy();
    await untilNoSpoolIsOpen();
    const early = connect(join(dataDir, "control.sock"));
    early.write("GET /export HTTP/1.1\r\nhost: inboxd\r\n\r\n", () => early.destroy());
    await service.logged("export failed");
    await untilNoSpoolIsOpen();
    expect(readdirSync(dataDir).filter((name) => name.startsWith(".export-"))).toEqual([]);
    expect((await service.request("POST", "/v1/inboxes", { username: "made-after" })).status).toBe(201);
  }, 30_000);

  test.skipIf(Bun.which("prlimit") === null)(
    "says so when there is no room for it, and the service goes on",
    async () => {
      // Room for the files of the database, which are smaller than the export.
      await Bun.$`prlimit --pid ${service.pid} --fsize=${17 << 20}:`.quiet();
      const file = join(directory, "no-room.jsonl");
      const failed = await runInboxd(["export", file], { env: { DATA_DIR: dataDir } });
      expect(failed).toMatchObject({
        code: 1,
        stdout: "",
        stderr: expect.stringMatching(/^Cannot export: the running service answered: EFBIG/),
      });
      expect(readdirSync(directory).filter((name) => name.startsWith("no-room"))).toEqual([]);
      await untilNoSpoolIsOpen();
      expect((await service.request("POST", "/v1/inboxes", { username: "made-all-the-same" })).status).toBe(201);
    },
    30_000,
  );

  async function deliver(mail: string): Promise<string> {
    const client = await inData(service.smtpPort);
    const reply = await client.ask(`${mail}\r\n.`);
    client.destroy();
    return reply;
  }

  /** Files without a name that exports are sent from, as Linux shows them. */
  function openSpools(): number {
    const directory = `/proc/${service.pid}/fd`;
    return readdirSync(directory).filter((fd) => {
      try {
        return readlinkSync(join(directory, fd)).includes("/.export-");
      } catch {
        return false;
      }
    }).length;
  }

  const untilNoSpoolIsOpen = () => until(() => openSpools() === 0);
});

/** Of bytes that can't be compressed, so that no buffer on the way takes the export whole. */
function largeMail(): string {
  const file = randomBytes(7_400_000).toString("base64");
  return [
    "Subject: Large\r\nMIME-Version: 1.0\r\nContent-Type: application/pdf; name=large.pdf",
    "Content-Transfer-Encoding: base64\r\n",
    ...(file.match(/.{1,76}/g) ?? []),
  ].join("\r\n");
}

/** Asks as `inboxd export` does, and has the head of the answer when this resolves. */
async function readExport(dataDir: string) {
  const socket = connect(join(dataDir, "control.sock"));
  const pieces: Buffer[] = [];
  const begun = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  socket.on("data", (piece: Buffer) => {
    pieces.push(piece);
    begun.resolve();
  });
  socket.on("close", () => ended.resolve());
  socket.on("error", begun.reject);
  socket.write("GET /export HTTP/1.1\r\nhost: inboxd\r\nconnection: close\r\n\r\n");
  await begun.promise;
  return {
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    destroy: () => socket.destroy(),
    async whole(): Promise<{ sizeBytes: number; body: string }> {
      await ended.promise;
      const [head = "", body = ""] = Buffer.concat(pieces).toString().split("\r\n\r\n");
      return { sizeBytes: Number(/^content-length: (\d+)/im.exec(head)?.[1]), body };
    },
  };
}

const half = '{"inboxd":"export"}\n{"end":true,"rows":1';
const wentAway = "Cannot export: the running service stopped before the export was complete\n";
const failures: [
  why: string,
  stderr: string,
  answer: (service: () => ControlListener, unfinished: string) => Response | Promise<Response>,
][] = [
  [
    "is refused",
    "Cannot export: the running service answered: No room\n",
    () => new Response("No room", { status: 503 }),
  ],
  ["is cut off", wentAway, (service, unfinished) => new Response(cutOff(service, unfinished))],
  ["ends too early", wentAway, () => new Response(half)],
  ["is empty", wentAway, () => new Response()],
  [
    "never begins",
    wentAway,
    (service) =>
      service()
        .close()
        .then(() => new Response()),
  ],
];

test.each(failures)("an export that %s reports it, and leaves no file", async (_, stderr, answer) => {
  const dataDir = mkdtempSync(join(directory, "held-"));
  const lock = lockDirectory(dataDir);
  const file = join(dataDir, "export.jsonl");
  const service = listenAt(dataDir, () => answer(() => service, `${file}.unfinished`));
  expect(await runInboxd(["export", file], { env: { DATA_DIR: dataDir } })).toEqual({ code: 1, stdout: "", stderr });
  expect(readdirSync(dataDir).filter((name) => name.startsWith("export."))).toEqual([]);
  await service.close();
  lock.release();
});

test("an export of a database that another command has in hand is refused with code 3, and leaves no file", async () => {
  const dataDir = mkdtempSync(join(directory, "held-"));
  const lock = lockDirectory(dataDir);
  const refused = await runInboxd(["export", join(dataDir, "export.jsonl")], { env: { DATA_DIR: dataDir } });
  expect(refused).toMatchObject({ code: 3, stderr: `Cannot open ${dataDir}: another process is using it\n` });
  expect(readdirSync(dataDir).filter((name) => name.startsWith("export."))).toEqual([]);
  lock.release();
});

/** Once the half that it says has been written down. */
function cutOff(service: () => ControlListener, unfinished: string): ReadableStream {
  return new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode(half)),
    async pull() {
      await until(() => Bun.file(unfinished).size === half.length);
      await service().close();
    },
  });
}
