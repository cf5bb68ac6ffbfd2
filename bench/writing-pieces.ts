/**
 * The peer of uploads in bench/sending.ts: `bun bench/writing-pieces.ts COUNT AT_ONCE` hashes files of 10 MB and writes their pieces as
 * the store keeps them, by one statement each, with no client that they come from. Says how many files a second.
 */
import { openDatabase } from "../src/database/db.ts";
import { chunkBytes, chunkOf, insertSources } from "../src/store/mail/sources.ts";
import { migrate } from "../src/store/migrate.ts";

const [count, atOnce] = process.argv.slice(2).map(Number);
const bytes = crypto.getRandomValues(new Uint8Array(65_536));
const content = new Uint8Array(10_000_000).map((_, index) => (bytes[index % bytes.length] ?? 0) ^ (index >> 16));
const db = await openDatabase({ url: process.env.DATABASE_URL, dataDir: process.env.DATA_DIR ?? "./data" });
try {
  await migrate(db);
  await inTurns(atOnce ?? 1);
  const startMs = performance.now();
  await inTurns(count ?? 1);
  console.log(JSON.stringify({ perSecond: ((count ?? 1) * 1000) / (performance.now() - startMs) }));
} finally {
  await db.close();
}

async function inTurns(files: number): Promise<void> {
  let left = files;
  const run = async () => {
    while (left-- > 0) await one();
  };
  await Promise.all(Array.from({ length: atOnce ?? 1 }, run));
}

async function one(): Promise<void> {
  const hash = new Bun.CryptoHasher("sha256");
  const id = `src_${crypto.randomUUID().replaceAll("-", "")}`.slice(0, 30);
  for (let at = 0; at < content.length; at += chunkBytes) {
    const piece = content.subarray(at, at + chunkBytes);
    hash.update(piece);
    await insertSources(db.api, [{ id, shares: 1, chunks: [await chunkOf(0, at / chunkBytes, piece)] }]);
  }
  hash.digest("hex");
}
