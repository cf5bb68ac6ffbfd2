import { type SQL, sql } from "drizzle-orm";
import { openPiece } from "../../blobs/sealed-piece.ts";
import { arrayOf, type Db, query } from "../../database/db.ts";
import { Refusal } from "../../domain/errors.ts";
import type { Chunk, Source } from "../../domain/receive/filed-mails.ts";
import { selected } from "../columns.ts";
import { sourceChunks } from "../schema.ts";

/** The size of a piece. Because of it, a mail of 25 MB is never whole in a statement or in the memory of a reader. */
export const chunkBytes = 1 << 20;
const worthCompressingBytes = 256;
/** The most bytes to compress in this thread. More would block the event loop for too long, and are compressed in another thread. */
const quicklyCompressedBytes = 64 << 10;

/** Divides bytes into pieces, and compresses those that become smaller. This costs less than it saves on the network and on the disk. */
export async function chunksOf(part: number, bytes: Uint8Array): Promise<Chunk[]> {
  const chunks: Chunk[] = [];
  for (let at = 0; at < bytes.length || at === 0; at += chunkBytes) {
    chunks.push(await chunkOf(part, chunks.length, bytes.subarray(at, at + chunkBytes)));
  }
  return chunks;
}

/** Makes one piece from at most `chunkBytes`, compressed if that makes it smaller. */
export async function chunkOf(part: number, seq: number, plain: Uint8Array): Promise<Chunk> {
  if (!mayShrink(plain)) return { part, seq, compressed: false, bytes: plain };
  const packed = plain.length > quicklyCompressedBytes ? await Bun.zstdCompress(plain, level) : packedHere(plain);
  const compressed = packed.length < plain.length;
  return { part, seq, compressed, bytes: compressed ? packed : plain };
}

const level = { level: 1 };

/**
 * Whether a piece is worth compressing: it is small, or one of three samples becomes smaller. Most large files are compressed already, and
 * compressing them again took as long as everything else that is done with them.
 */
function mayShrink(plain: Uint8Array): boolean {
  if (plain.length <= quicklyCompressedBytes) return true;
  const last = plain.length - sampleBytes;
  return [0, last >> 1, last].some((at) => {
    const sample = plain.subarray(at, at + sampleBytes);
    return Bun.zstdCompressSync(sample, level).length < sample.length * worthwhileShare;
  });
}

const sampleBytes = 2 << 10;
/** The largest ratio of the compressed size of a sample to its size with which compression is worthwhile. */
const worthwhileShare = 0.97;

function packedHere(plain: Uint8Array): Uint8Array {
  return plain.length > worthCompressingBytes ? Bun.zstdCompressSync(plain, level) : plain;
}

/** Writes large sources, one statement for each piece. */
export async function insertSources(tx: Db, sources: readonly Source[]): Promise<void> {
  for (const batch of batches(sourceRows(sources))) await query(tx, rowsInserted(batch));
}

/** Part of a statement: inserts small sources. `ending` follows the insert. */
export function sourcesInserted(sources: readonly Source[], ending: SQL): SQL {
  return sql`${rowsInserted(sourceRows(sources))}${ending}`;
}

/**
 * Inserts pieces as they were exported from another database. They have old ids, so packing goes back to them. `ending` follows the insert.
 */
export async function insertChunkRows(tx: Db, rows: readonly ChunkRow[], ending: SQL): Promise<void> {
  await query(tx, sql`${rowsInserted(rows)}${ending}`);
  const [firstId = ""] = rows.map(({ sourceId }) => sourceId).toSorted();
  await query(tx, sql`update packing set seen_id = ${firstId} where seen_id > ${firstId}`);
}

export interface ChunkRow extends Chunk {
  sourceId: string;
  shares: number | null;
}

export function sourceRows(sources: readonly Source[]): ChunkRow[] {
  return sources.flatMap(({ id, shares, chunks }) =>
    chunks.map((chunk) => ({ ...chunk, sourceId: id, shares: chunk.part === 0 && chunk.seq === 0 ? shares : null })),
  );
}

/** Part of a statement: inserts pieces. The bytes are sent as an array in binary form: as text they would be hex, twice as long. */
export function rowsInserted(rows: readonly ChunkRow[]): SQL {
  const ids = arrayOf("text", pluck(rows, "sourceId"));
  const parts = arrayOf("int4", pluck(rows, "part"));
  const seqs = arrayOf("int4", pluck(rows, "seq"));
  const compressed = arrayOf("bool", pluck(rows, "compressed"));
  const shares = arrayOf("int4", pluck(rows, "shares"));
  const bytes = arrayOf("bytea", pluck(rows, "bytes"));
  return sql`insert into source_chunks (source_id, part, seq, compressed, shares, bytes)
    select chunk.* from unnest(${ids}, ${parts}, ${seqs}, ${compressed}, ${shares}, ${bytes})
      as chunk (source_id, part, seq, compressed, shares, bytes)`;
}

function pluck<Name extends keyof ChunkRow>(rows: readonly ChunkRow[], name: Name): ChunkRow[Name][] {
  return rows.map((row) => row[name]);
}

const batchBytes = 2 << 20;

function* batches(rows: readonly ChunkRow[]): Generator<ChunkRow[]> {
  let batch: ChunkRow[] = [];
  let sizeBytes = 0;
  for (const row of rows) {
    if (batch.length > 0 && sizeBytes + row.bytes.length > batchBytes) {
      yield batch;
      batch = [];
      sizeBytes = 0;
    }
    batch.push(row);
    sizeBytes += row.bytes.length;
  }
  if (batch.length > 0) yield batch;
}

/** Sets the number of shares of a source, or removes the source if the number is 0. */
export async function markSourceShares(tx: Db, id: string, shares: number): Promise<void> {
  await query(
    tx,
    shares === 0
      ? sql`delete from source_chunks where source_id = ${id}`
      : sql`update source_chunks set shares = ${shares} where source_id = ${id} and part = 0 and seq = 0`,
  );
}

/** Finds one piece, and decompresses it. Undefined after the last piece. If the bytes are in a segment, one request reads them. */
export async function findChunk(db: Db, sourceId: string, part: number, seq: number): Promise<Uint8Array | undefined> {
  const [chunk] = await query<KeptChunk & { compressed: boolean }>(
    db,
    sql`select compressed, ${keptFields} from source_chunks c
        where c.source_id = ${sourceId} and c.part = ${part} and c.seq = ${seq}`,
  );
  if (chunk === undefined) return undefined;
  const bytes = await bytesOf(db, chunk);
  return chunk.compressed ? Bun.zstdDecompressSync(bytes) : bytes;
}

/** Where the bytes of a piece are: in its row, or in a segment. */
export type KeptChunk = Pick<
  typeof sourceChunks.$inferSelect,
  "bytes" | "segmentId" | "segmentAt" | "sealedBytes" | "sealKey"
>;

const keptFields = selected(sourceChunks, "c", ["bytes", "segmentId", "segmentAt", "sealedBytes", "sealKey"]);

/** The bytes of a piece as they were stored, compressed or not. */
export async function bytesOf(
  { blobs }: Db,
  { bytes, segmentId, segmentAt, sealedBytes, sealKey }: KeptChunk,
): Promise<Uint8Array> {
  if (bytes !== null) return bytes;
  if (segmentId === null || segmentAt === null || sealedBytes === null || sealKey === null) {
    throw new Error("Cannot read a piece of a source: it has neither bytes nor a place");
  }
  if (blobs === undefined) {
    throw new Refusal("service_unavailable", "Cannot read older mail: it is in an object store, and BLOBS is not set");
  }
  return openPiece(await blobs.read(segmentId, segmentAt, sealedBytes), sealKey);
}
