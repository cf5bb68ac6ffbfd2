import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AdminRequest } from "../../src/control/administer.ts";
import { askService, readFromService } from "../../src/control/client.ts";
import { controlPaths, fetchFrom, listenAt } from "../../src/control/socket.ts";
import { failureOf } from "../support/failure.ts";
import { watchesClock } from "../support/watches-clock.ts";
import { startWorld } from "../support/world.ts";

const dataDir = mkdtempSync(join(tmpdir(), "ibx-control-"));
afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

test("a service with the embedded database does what its operator asks, or refuses it with its reason", async () => {
  await using world = await startWorld({ database: "embedded", env: { DATA_DIR: dataDir } });
  const ask = (operation: string, given: AdminRequest["arguments"] = {}) =>
    askService(dataDir, { operation, arguments: given } as AdminRequest);

  expect(await ask("account list")).toMatchObject([{ name: "default" }]);
  const { apiKey } = (await ask("account create", { name: "acme" })) as { apiKey: string };
  expect((await world.api("/v1/inboxes", { apiKey })).status).toBe(200);
  expect(await failureOf(ask("account create", { name: "acme" }))).toMatchObject({
    name: "Refusal",
    message: 'Cannot create account: the name "acme" is taken',
  });

  await ask("account suspend", { name: "acme", scope: "sending" });
  expect(await ask("account list")).toMatchObject([
    { name: "default", suspended: null },
    { name: "acme", suspended: "sending" },
  ]);

  // Of a command that is newer than the service.
  const another = "Cannot do this: the running server is of another version";
  for (const operation of ["account rename", "toString"]) {
    expect(await failureOf(ask(operation))).toMatchObject({ name: "Refusal", message: another });
  }
  expect(await (await fetchFrom(dataDir, "/elsewhere")).json()).toEqual({ refused: another });

  const broken = await fetchFrom(dataDir, "/admin", { method: "POST", body: "{" });
  expect(await broken.json()).toEqual({ refused: "Cannot do this: something went wrong, see the server's log" });
  expect(world.log).toContainEqual(expect.objectContaining({ msg: "admin request failed" }));

  expect(await lastLineOf(readFromService(dataDir))).toMatchObject({ end: true });
});

/** A service whose export begins once it was asked this often whether it answers. */
async function quietService(looks: number) {
  const directory = mkdtempSync(join(tmpdir(), "ibx-quiet-"));
  const asked = Promise.withResolvers<void>();
  let left = looks;
  const listener = listenAt(directory, async (request) => {
    const isExport = new URL(request.url).pathname === controlPaths.export;
    if (isExport) await asked.promise;
    else if (looks === 0) await new Promise(() => undefined);
    else {
      left -= 1;
      if (left === 0) asked.resolve();
    }
    return new Response(isExport ? '{"end":true}\n' : "");
  });
  return {
    directory,
    async [Symbol.asyncDispose]() {
      await listener.close();
      rmSync(directory, { recursive: true });
    },
  };
}

test("an export waits for a service that reads for long, as long as it answers", watchesClock, async () => {
  await using service = await quietService(3);
  expect(await lastLineOf(readFromService(service.directory, { mostQuietMs: 500 }))).toEqual({ end: true });
});

test("an export ends when the service answers nothing at all", async () => {
  await using service = await quietService(0);
  expect(await failureOf(lastLineOf(readFromService(service.directory, { mostQuietMs: 20 })))).toMatchObject({
    name: "Refusal",
    message: "Cannot export: the running service has not answered for a minute; is it stopped?",
  });
});

async function lastLineOf(pieces: AsyncIterable<Uint8Array>): Promise<unknown> {
  const text = Buffer.concat(await Array.fromAsync(pieces)).toString();
  return JSON.parse(text.trimEnd().split("\n").at(-1) ?? "");
}
