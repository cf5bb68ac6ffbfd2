import { sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "./db.ts";

/** Raw mail and attachments as pieces that can be written and streamed one by one. Part 0 is the raw mail. */
export interface Chunk {
  part: number;
  seq: number;
  compressed: boolean;
  bytes: Uint8Array;
}

/** Pieces of this size keep a 25 MB mail from ever lying whole in a statement or in a reader's memory. */
export const chunkBytes = 1 << 20;
const worthCompressingBytes = 256;

export function chunksOf(part: number, bytes: Uint8Array): Chunk[] {
  const chunks: Chunk[] = [];
  for (let at = 0; at < bytes.length || at === 0; at += chunkBytes) {
    const plain = bytes.subarray(at, at + chunkBytes);
    const packed = plain.length > worthCompressingBytes ? Bun.zstdCompressSync(plain, { level: 1 }) : plain;
    const compressed = packed.length < plain.length;
    chunks.push({ part, seq: chunks.length, compressed, bytes: compressed ? packed : plain });
  }
  return chunks;
}

export interface Source {
  id: string;
  /** How many messages share it. */
  shares: number;
  chunks: readonly Chunk[];
}

/** The binary form of an array keeps bytes from being doubled to hex on their way. */
export async function insertSources(tx: Db, sources: readonly Source[]): Promise<void> {
  const rows = sources.flatMap((source) => source.chunks.map((chunk) => ({ source, chunk })));
  for (const batch of batches(rows)) {
    await query(
      tx,
      sql`insert into source_chunks (source_id, part, seq, compressed, shares, bytes)
          select * from unnest(${arrayOf(
            "text",
            batch.map(({ source }) => source.id),
          )},
            ${arrayOf(
              "int4",
              batch.map(({ chunk }) => chunk.part),
            )}, ${arrayOf(
              "int4",
              batch.map(({ chunk }) => chunk.seq),
            )},
            ${arrayOf(
              "bool",
              batch.map(({ chunk }) => chunk.compressed),
            )},
            ${arrayOf(
              "int4",
              batch.map(({ source, chunk }) => (chunk.part === 0 && chunk.seq === 0 ? source.shares : null)),
            )},
            ${arrayOf(
              "bytea",
              batch.map(({ chunk }) => chunk.bytes),
            )})`,
    );
  }
}

const batchBytes = 2 << 20;

function* batches<Row extends { chunk: Chunk }>(rows: readonly Row[]): Generator<Row[]> {
  let batch: Row[] = [];
  let sizeBytes = 0;
  for (const row of rows) {
    if (batch.length > 0 && sizeBytes + row.chunk.bytes.length > batchBytes) {
      yield batch;
      batch = [];
      sizeBytes = 0;
    }
    batch.push(row);
    sizeBytes += row.chunk.bytes.length;
  }
  if (batch.length > 0) yield batch;
}

/** One piece, as it was before it was compressed; undefined past the end. */
export async function findChunk(db: Db, sourceId: string, part: number, seq: number): Promise<Uint8Array | undefined> {
  const [chunk] = await query<{ compressed: boolean; bytes: Uint8Array }>(
    db,
    sql`select compressed, bytes from source_chunks where source_id = ${sourceId} and part = ${part} and seq = ${seq}`,
  );
  return chunk?.compressed ? Bun.zstdDecompressSync(chunk.bytes) : chunk?.bytes;
}
