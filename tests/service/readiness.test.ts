import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { testOnlyCertificate, testOnlyKey } from "../support/test-only-certificate.ts";
import { startWorld, type World } from "../support/world.ts";

const directory = mkdtempSync(join(tmpdir(), "ibx-ready-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

test("while a listener is not up /readyz says so, and at its first 200 both are", async () => {
  // A certificate that comes when it is told to: the start waits for it before it makes anything, and again when SMTP listens.
  const certificate = join(directory, "certificate.pem");
  const key = join(directory, "key.pem");
  expect(Bun.spawnSync(["mkfifo", certificate]).exitCode).toBe(0);
  await writeFile(key, testOnlyKey);
  const addresses = await freeAddresses();
  const starting = startWorld({ env: { ...addresses, SMTP_TLS_CERT: certificate, SMTP_TLS_KEY: key } });
  await writeFile(certificate, testOnlyCertificate);
  try {
    const early = await firstAnswer(addresses, starting, () => true);
    expect(early.status).toBe(503);
    expect(await early.json()).toMatchObject({ detail: "Cannot answer: the listeners are not up yet" });
    expect(await connected(addresses)).toBe("ECONNREFUSED");
  } finally {
    await writeFile(certificate, testOnlyCertificate);
  }
  await firstAnswer(addresses, starting, ({ status }) => status === 200);
  expect(await connected(addresses)).toBe("connected");
  await (await starting)[Symbol.asyncDispose]();
}, 30_000);

test("start after start, whoever comes at the first 200 of /readyz is taken in by SMTP", async () => {
  for (let start = 0; start < 5; start++) {
    // Each makes a certificate of its own, for which the listener waits.
    const addresses = await freeAddresses();
    const starting = startWorld({ env: addresses });
    await firstAnswer(addresses, starting, ({ status }) => status === 200);
    expect(await connected(addresses)).toBe("connected");
    await (await starting)[Symbol.asyncDispose]();
  }
}, 60_000);

type Addresses = Record<"HOST" | "PORT" | "SMTP_HOST" | "SMTP_PORT", string>;

/**
 * Known before the start. On Linux all of 127.0.0.0/8 is ours: at an address of this process, nobody takes a port that was
 * found to be free.
 */
async function freeAddresses(): Promise<Addresses> {
  const host =
    process.platform === "linux" ? `127.${1 + (process.pid % 254)}.${(process.pid >> 8) % 256}.9` : "127.0.0.1";
  const [api, smtp] = [await freePort(host), await freePort(host)];
  return { HOST: host, PORT: String(api), SMTP_HOST: host, SMTP_PORT: String(smtp) };
}

async function freePort(host: string): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const server = createServer().listen(0, host, () => {
    const address = server.address();
    const port = typeof address === "object" ? (address?.port ?? 0) : 0;
    server.close(() => resolve(port));
  });
  return promise;
}

/** The first answer of /readyz that is as wanted; throws when the start fails instead. */
async function firstAnswer(
  { HOST, PORT }: Addresses,
  starting: Promise<World>,
  isWanted: (answer: Response) => boolean,
) {
  let failure: unknown;
  starting.catch((error: unknown) => {
    failure = error;
  });
  for (;;) {
    if (failure !== undefined) throw failure;
    const answer = await fetch(`http://${HOST}:${PORT}/readyz`).catch(() => undefined);
    if (answer !== undefined && isWanted(answer)) return answer;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** How a connection to the SMTP listener ends: the name of its error, where there is one. */
function connected({ SMTP_HOST, SMTP_PORT }: Addresses): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const socket = connect(Number(SMTP_PORT), SMTP_HOST, () => {
    socket.destroy();
    resolve("connected");
  });
  socket.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  return promise;
}
