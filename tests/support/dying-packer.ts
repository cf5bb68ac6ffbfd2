import { openBlobStore } from "../../src/blobs/blob-store.ts";
import { readConfig } from "../../src/config.ts";
import { openDatabase } from "../../src/database/db.ts";
import { idMaker } from "../../src/domain/ids.ts";
import { packSources, sweepSegments } from "../../src/flows/pack-sources.ts";

/** A process that packs sources and sweeps segments once, at an instant that it is given. Its parent kills it somewhere in between. */
const [at = ""] = process.argv.slice(2);
const { databaseUrl, dataDir, blobs: settings } = readConfig(process.env);
if (settings === undefined) throw new Error("BLOBS is not set");
const blobs = openBlobStore(settings);
const db = await openDatabase({ url: databaseUrl, dataDir, blobs });
const randomBytes = (length: number) => crypto.getRandomValues(new Uint8Array(length));
const deps = { db, now: () => new Date(at), newId: idMaker(randomBytes), randomBytes, blobs, blobsAfterMinutes: 60 };
for (let next: string | undefined = ""; next !== undefined; ) next = await packSources(deps, next);
while ((await sweepSegments(deps)) > 0);
await db.close();
