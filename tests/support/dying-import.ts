import { writeSync } from "node:fs";
import { openDatabase } from "../../src/database/db.ts";
import { idMaker } from "../../src/domain/ids.ts";
import { importAccount } from "../../src/flows/move/import-account.ts";
import { sealing } from "../../src/standards/sealing.ts";

/** A process that imports an account from a file, and stops for ever before the first line with recipients. Its parent kills it then. */
const [file = "", url = "", dataDir = ""] = process.argv.slice(2);
const lines = (await Bun.file(file).text()).trimEnd().split("\n");
const db = await openDatabase({ url: url === "" ? undefined : url, dataDir });
const randomBytes = (length: number) => crypto.getRandomValues(new Uint8Array(length));

const seals = sealing({ current: process.env.ENCRYPTION_KEY, previous: undefined }, randomBytes);

let readings = 0;
const deps = { db, now: () => new Date(), newId: idMaker(randomBytes), sealing: seals, mailDomain: "inbox.localhost" };
await importAccount(deps, async function* () {
  readings += 1;
  for (const line of lines) {
    if (readings === 3 && line.startsWith('{"table":"recipients"')) {
      writeSync(1, "half\n");
      await new Promise(() => undefined);
    }
    yield line;
  }
});
