import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { openBlobStore } from "../../src/blobs/blob-store.ts";
import { readConfig } from "../../src/config.ts";
import { type Database, openDatabase, query, transaction } from "../../src/database/db.ts";
import { idMaker } from "../../src/domain/ids.ts";
import { type PackingDeps, packSources, sweepSegments } from "../../src/flows/pack-sources.ts";
import { releaseShares } from "../../src/store/mail/shares.ts";
import { chunksOf, findChunk, insertSources } from "../../src/store/mail/sources.ts";
import { migrate } from "../../src/store/migrate.ts";
import { chanceOf } from "../support/chance.ts";
import { emptyDatabase } from "../support/database.ts";
import { type EngineName, enginesHere } from "../support/engines.ts";
import { randomFile } from "../support/files.ts";
import {
  haveObjectStore,
  type ObjectStore,
  passing,
  startObjectStore,
  type Treatment,
} from "../support/object-store.ts";

const rounds = Number(process.env.KILL_ROUNDS ?? 1);
const dayMs = 86_400_000;
const randomBytes = (length: number) => crypto.getRandomValues(new Uint8Array(length));

/** Points at which the process is killed: the request, and whether the store has done it by then. */
const points = (["PUT", "HEAD", "GET", "DELETE"] as const).flatMap((method) =>
  [false, true].map((isDone) => ({ method, isDone })),
);

describe.if(haveObjectStore()).each(enginesHere())("kill -9 of the packer (%s)", (engine) => {
  test(
    `at each request, ${rounds} times, and while places are written: all bytes are there, and no object too many`,
    async () => {
      await using life = await lifeOf(engine);
      for (let round = 0; round < rounds; round += 1) {
        for (const point of points) {
          await life.change();
          // The second half of a round kills later: of several requests of this kind, not the first.
          await life.packAndDie(point, round % 2);
          await life.verify();
        }
        for (const afterMs of [0, 5, 20]) {
          await life.change();
          await life.packAndDie({ method: "HEAD", isDone: true, answeredAfterwards: true, afterMs }, 0);
          await life.verify();
        }
      }
      await life.settle();
    },
    600_000 + rounds * 120_000,
  );
});

interface Point {
  method: string;
  isDone: boolean;
  /** Whether the process gets the answer before it is killed, `afterMs` later. */
  answeredAfterwards?: boolean;
  afterMs?: number;
}

async function lifeOf(engine: EngineName) {
  const store: ObjectStore = await startObjectStore();
  const { blobs: settings } = readConfig(store.env);
  if (settings === undefined) throw new Error("no object store");
  const blobs = openBlobStore(settings);
  const dataDir = mkdtempSync(join(tmpdir(), "ibx-packer-"));
  const made = engine === "postgres" ? await emptyDatabase() : undefined;
  const options = { dataDir, url: made?.url, blobs };
  const chance = chanceOf(7);
  const newId = idMaker(randomBytes);
  /** What each living source must have. */
  const wanted = new Map<string, Uint8Array>();
  let at = new Date("2026-03-21T10:05:00.000Z").getTime();

  async function withDatabase<Result>(work: (db: Database) => Promise<Result>): Promise<Result> {
    const db = await openDatabase(options);
    try {
      return await work(db);
    } finally {
      await db.close();
    }
  }

  const depsOf = (db: Database): PackingDeps => {
    return { db, now: () => new Date(at), newId, randomBytes, blobs, blobsAfterMinutes: 60 };
  };

  await withDatabase(migrate);
  return {
    /** Stores sources, and erases most of the older ones, so that segments become half-dead and dead. A day and more passes. */
    change: () =>
      withDatabase(async ({ work }) => {
        for (let count = 0; count < 12; count += 1) {
          const bytes = randomFile(count === 0 ? 2_500_000 : chance.whole(0, 20_000), chance.whole(1, 1e9));
          const id = newId("src", new Date(at + count));
          await transaction(work, async (tx) =>
            insertSources(tx, [{ id, shares: 1, chunks: await chunksOf(0, bytes) }]),
          );
          wanted.set(id, bytes);
        }
        const gone = [...wanted.keys()].filter(() => chance.is(0.6));
        await releaseShares(work, gone);
        for (const id of gone) wanted.delete(id);
        at += 26 * 3_600_000;
      }),
    /** Packs in another process, which is killed at the point, or has nothing to do there and ends. */
    async packAndDie({ method, isDone, answeredAfterwards = false, afterMs = 0 }: Point, skipped: number) {
      const { url } = options;
      const child = Bun.spawn(
        ["bun", join(import.meta.dir, "../support/dying-packer.ts"), new Date(at).toISOString()],
        {
          env: { ...process.env, ...store.env, DATA_DIR: dataDir, ...(url !== undefined && { DATABASE_URL: url }) },
          stdin: "ignore",
          stdout: "inherit",
          stderr: "inherit",
        },
      );
      let left = skipped;
      const killing: Treatment = async (request, pass) => {
        if (request.method !== method || left-- > 0) return pass();
        const answer = isDone ? await pass() : undefined;
        if (answeredAfterwards && answer !== undefined) {
          setTimeout(() => child.kill("SIGKILL"), afterMs);
          return answer;
        }
        child.kill("SIGKILL");
        await child.exited;
        return new Response(null, { status: 500 });
      };
      store.treat(killing);
      await child.exited;
      store.treat(passing);
      // Ended by itself, or killed; any other end is a fault of the packer.
      expect([0, 137]).toContain(child.exitCode ?? 137);
    },
    verify: () =>
      withDatabase(async ({ work }) => {
        for (const [id, bytes] of wanted) expect([id, await digestOf(work, id)]).toEqual([id, Bun.hash(bytes)]);
      }),
    /** Packs and sweeps for some days without a kill: then the store has the segments of the database alone, each with living pieces. */
    async settle() {
      await withDatabase(async (db) => {
        for (let day = 0; day < 5; day += 1) {
          at += dayMs + 3_600_000;
          for (let next: string | undefined = ""; next !== undefined; ) next = await packSources(depsOf(db), next);
          while ((await sweepSegments(depsOf(db))) > 0);
        }
        const named = await query<{ id: string }>(db.work, sql`select distinct segment_id as id from source_chunks`);
        const known = await query<{ id: string }>(db.work, sql`select id from segments`);
        expect((await store.names()).toSorted()).toEqual(named.map(({ id }) => id).toSorted());
        expect(known.map(({ id }) => id).toSorted()).toEqual(named.map(({ id }) => id).toSorted());
      });
      await this.verify();
    },
    async [Symbol.asyncDispose]() {
      await made?.drop();
      rmSync(dataDir, { recursive: true, force: true });
      await store[Symbol.asyncDispose]();
    },
  };
}

async function digestOf(db: Database["work"], sourceId: string): Promise<number | bigint> {
  const pieces: Uint8Array[] = [];
  for (let seq = 0; ; seq += 1) {
    const piece = await findChunk(db, sourceId, 0, seq);
    if (piece === undefined) break;
    pieces.push(piece);
  }
  return Bun.hash(Buffer.concat(pieces));
}
