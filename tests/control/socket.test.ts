import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fetchFrom, listenAt, NobodyListens } from "../../src/control/socket.ts";
import { failureOf } from "../support/failure.ts";

const directory = mkdtempSync(join(tmpdir(), "ibx-control-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

test("a service is asked at the socket of its directory, which nobody but its owner can open", async () => {
  const dataDir = newDirectory();
  const service = listenAt(dataDir, (request) => new Response(`heard ${new URL(request.url).pathname}`));
  expect(statSync(join(dataDir, "control.sock")).mode & 0o777).toBe(0o600);
  expect(await (await fetchFrom(dataDir, "/ask")).text()).toBe("heard /ask");
  await service.close();
  expect(existsSync(join(dataDir, "control.sock"))).toBe(false);
});

test("without a service nothing listens", async () => {
  expect(await failureOf(fetchFrom(newDirectory(), "/"))).toBeInstanceOf(NobodyListens);
});

test("nor at the socket that a killed one has left, whose place the next one takes", async () => {
  const dataDir = newDirectory();
  await listenAndDie(dataDir);
  expect(existsSync(join(dataDir, "control.sock"))).toBe(true);
  expect(await failureOf(fetchFrom(dataDir, "/"))).toBeInstanceOf(NobodyListens);
  const service = listenAt(dataDir, () => new Response("mine"));
  expect(await (await fetchFrom(dataDir, "/")).text()).toBe("mine");
  await service.close();
});

test("a service that goes away before it answers was there all the same", async () => {
  const dataDir = newDirectory();
  const service = listenAt(dataDir, async () => {
    await service.close();
    return new Response();
  });
  const failure = await failureOf(fetchFrom(dataDir, "/"));
  expect(failure).toBeInstanceOf(Error);
  expect(failure).not.toBeInstanceOf(NobodyListens);
});

test("the directory may have a path that is too long for a socket", async () => {
  const dataDir = join(newDirectory(), "long".repeat(40));
  mkdirSync(dataDir);
  const service = listenAt(dataDir, () => new Response("reached"));
  expect(await (await fetchFrom(dataDir, "/")).text()).toBe("reached");
  await service.close();
  expect(existsSync(join(dataDir, "control.sock"))).toBe(false);
});

test("an answer may take longer than the 10 s after which Bun gives up", async () => {
  const dataDir = newDirectory();
  const service = listenAt(dataDir, async () => {
    await Bun.sleep(13_000);
    return new Response("at last");
  });
  expect(await (await fetchFrom(dataDir, "/")).text()).toBe("at last");
  await service.close();
}, 30_000);

function newDirectory(): string {
  return mkdtempSync(join(directory, "data-"));
}

async function listenAndDie(dataDir: string): Promise<void> {
  const child = Bun.spawn([process.execPath, "-e", dying, dataDir], { cwd: import.meta.dir, stderr: "inherit" });
  await child.exited;
}

const dying = `
  import { listenAt } from "../../src/control/socket.ts";
  listenAt(process.argv.at(-1), () => new Response());
  process.kill(process.pid, "SIGKILL");
`;
