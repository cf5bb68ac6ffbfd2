import { afterAll, beforeAll, expect, test } from "bun:test";
import { checkCells } from "../../src/commands/doctor/cells.ts";
import { cellToken } from "../support/cells.ts";
import { startWorld, type World } from "../support/world.ts";

let other: World;
beforeAll(async () => {
  other = await startWorld({ env: { MAIL_DOMAIN: "c1.example", CELL: "01", INGEST_TOKEN: cellToken } });
}, 60_000);
afterAll(() => other[Symbol.asyncDispose]());

/** The findings about the other cell. */
async function found(given: { cell?: string; url?: string; ingestToken?: string }) {
  const { cell = "00", url = new URL(other.service.apiUrl).origin, ingestToken = cellToken } = given;
  const findings = await checkCells({ cell, cellPeers: [{ host: "c1.example", url }], ingestToken });
  return findings.map(({ level, seen }) => `${level} ${seen}`);
}

test("another cell that answers is well", async () => {
  expect(await found({})).toEqual(["ok c1.example is the cell 01, and takes mail"]);
});

test("a cell with another token, with our own CELL or without an answer is not", async () => {
  expect(await found({ ingestToken: "x".repeat(40) })).toEqual(["fail c1.example takes no mail of ours"]);
  expect(await found({ cell: "01" })).toEqual([
    "ok c1.example is the cell 01, and takes mail",
    "fail c1.example has the same CELL as this one: 01",
  ]);
  const away = Bun.serve({ port: 0, fetch: () => new Response("away", { status: 502 }) });
  expect(await found({ url: away.url.origin })).toEqual([
    `fail c1.example cannot be reached at ${away.url.origin} (answered 502)`,
  ]);
  await away.stop(true);
  expect(await checkCells({ cell: "00", cellPeers: [], ingestToken: undefined })).toEqual([]);
});
