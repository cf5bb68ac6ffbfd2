import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AdminRequest } from "../../src/control/administer.ts";
import { askService, readFromService } from "../../src/control/client.ts";
import { fetchFrom } from "../../src/control/socket.ts";
import { failureOf } from "../support/failure.ts";
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

async function lastLineOf(pieces: AsyncIterable<Uint8Array>): Promise<unknown> {
  const text = Buffer.concat(await Array.fromAsync(pieces)).toString();
  return JSON.parse(text.trimEnd().split("\n").at(-1) ?? "");
}
