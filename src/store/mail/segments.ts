import { sql } from "drizzle-orm";
import { arrayOf, type Db, query, transaction } from "../../database/db.ts";
import { insertRow } from "../rows.ts";
import { segments } from "../schema.ts";

/*
 * A segment is an object in the object store with the sealed pieces of sources. Each piece has its place and its key in its own row of
 * `source_chunks`, so the bytes are gone when this row is, as without a segment.
 */

export interface PackingLease {
  holder: string;
  now: Date;
  leasedUntil: Date;
}

/** Takes or renews the lease on packing. Returns the id up to which sources are packed, or undefined while another process has the lease. */
export async function holdPacking(db: Db, { holder, now, leasedUntil }: PackingLease): Promise<string | undefined> {
  const [held] = await query<{ seenId: string }>(
    db,
    sql`insert into packing (id, holder, leased_until, seen_id) values (1, ${holder}, ${leasedUntil}, '')
        on conflict (id) do update set holder = excluded.holder, leased_until = excluded.leased_until
        where packing.holder = excluded.holder or packing.leased_until <= ${now}
        returning seen_id as "seenId"`,
  );
  return held?.seenId;
}

/** Writes how far packing has come, unless an import has set it back meanwhile. */
export async function markPacked(db: Db, holder: string, fromId: string, seenId: string): Promise<void> {
  await query(db, sql`update packing set seen_id = ${seenId} where holder = ${holder} and seen_id = ${fromId}`);
}

/** Ends the lease on packing now, so that the next process need not wait until it expires. */
export async function releasePacking(db: Db, holder: string, now: Date): Promise<void> {
  await query(db, sql`update packing set leased_until = ${now} where holder = ${holder}`);
}

export interface PieceName {
  sourceId: string;
  part: number;
  seq: number;
}

export interface LookedPiece extends PieceName {
  /** Null if the piece is in a segment, or belongs to a mail that waits to be parsed. */
  sizeBytes: number | null;
}

/** Lists the pieces of the sources from `fromId` on that are older than `beforeId`, in order. */
export function listPieces(db: Db, fromId: string, beforeId: string, limit: number): Promise<LookedPiece[]> {
  return query(
    db,
    sql`select source_id as "sourceId", part, seq, case when u.is_waiting then null else octet_length(bytes) end as "sizeBytes"
        from source_chunks c
        cross join lateral (select exists (select from unparsed_mails where source_id = c.source_id) as is_waiting) u
        where source_id >= ${fromId} and source_id < ${beforeId}
        order by source_id, part, seq limit ${limit}`,
  );
}

/** Finds the oldest source that is not packed yet, behind those that packing has seen. Undefined if there is none. */
export async function findOldestUnpacked(db: Db): Promise<string | undefined> {
  const [oldest] = await query<{ sourceId: string }>(
    db,
    sql`select source_id as "sourceId" from source_chunks
        where source_id >= coalesce((select seen_id from packing), '') and segment_id is null
        order by source_id limit 1`,
  );
  return oldest?.sourceId;
}

/** Reads the bytes of pieces that are in the database. Leaves out those that were deleted or packed meanwhile. */
export function listPieceBytes(db: Db, names: readonly PieceName[]): Promise<(PieceName & { bytes: Uint8Array })[]> {
  return query(
    db,
    sql`select c.source_id as "sourceId", c.part, c.seq, c.bytes from ${namesOf(names)}
        join source_chunks c on c.source_id = name.source_id and c.part = name.part and c.seq = name.seq
        where c.bytes is not null`,
  );
}

function namesOf(names: readonly PieceName[]) {
  const sourceIds = names.map(({ sourceId }) => sourceId);
  const parts = names.map(({ part }) => part);
  const seqs = names.map(({ seq }) => seq);
  return sql`unnest(${arrayOf("text", sourceIds)}, ${arrayOf("int4", parts)}, ${arrayOf("int4", seqs)}) as name (source_id, part, seq)`;
}

/** Inserts the row of a segment that is about to be written. */
export async function insertSegment(db: Db, id: string, sizeBytes: number, now: Date): Promise<void> {
  await insertRow(db, segments, { id, sizeBytes, lookedAt: now, deadAt: null });
}

export interface PlacedPiece extends PieceName {
  /** The segment that it was read from; null: the database. */
  from: string | null;
  segmentAt: number;
  sealedBytes: number;
  sealKey: Uint8Array;
}

/**
 * Gives pieces their place in a segment, and deletes their bytes from the database. Pieces that were deleted or packed meanwhile are left
 * out. Returns false and changes nothing if the segment was given up meanwhile. It locks in the order of ids, as `shares.ts` does, so that the
 * two cannot deadlock.
 */
export async function placePieces(db: Db, segmentId: string, pieces: readonly PlacedPiece[]): Promise<boolean> {
  const froms = pieces.map(({ from }) => from);
  const ats = pieces.map(({ segmentAt }) => segmentAt);
  const sizes = pieces.map(({ sealedBytes }) => sealedBytes);
  const keys = pieces.map(({ sealKey }) => sealKey);
  const names = pieces.map(({ sourceId }) => sourceId);
  const parts = pieces.map(({ part }) => part);
  const seqs = pieces.map(({ seq }) => seq);
  return transaction(db, async (tx) => {
    const segment = await query(tx, sql`select 1 from segments where id = ${segmentId} and dead_at is null for share`);
    if (segment.length === 0) return false;
    await query(
      tx,
      sql`with place as materialized (
            select c.source_id, c.part, c.seq, p.segment_at, p.sealed_bytes, p.seal_key
            from unnest(${arrayOf("text", names)}, ${arrayOf("int4", parts)}, ${arrayOf("int4", seqs)}, ${arrayOf("text", froms)},
              ${arrayOf("int4", ats)}, ${arrayOf("int4", sizes)}, ${arrayOf("bytea", keys)})
              as p (source_id, part, seq, from_id, segment_at, sealed_bytes, seal_key)
            join source_chunks c on c.source_id = p.source_id and c.part = p.part and c.seq = p.seq
              and c.segment_id is not distinct from p.from_id
            order by c.source_id, c.part, c.seq for update of c
          )
          update source_chunks c set bytes = null, segment_id = ${segmentId}, segment_at = place.segment_at,
            sealed_bytes = place.sealed_bytes, seal_key = place.seal_key
          from place where c.source_id = place.source_id and c.part = place.part and c.seq = place.seq`,
    );
    return true;
  });
}

export interface LookedSegment {
  id: string;
  sizeBytes: number;
  deadAt: Date | null;
  /** The bytes of its pieces that still exist. */
  liveBytes: number;
}

/** Lists the segments that were last looked at before an instant, the one that has waited longest first, and counts their living bytes. */
export function listSegmentsToLookAt(db: Db, before: Date, limit: number): Promise<LookedSegment[]> {
  return query(
    db,
    sql`select s.id, s.size_bytes as "sizeBytes", s.dead_at as "deadAt", live."liveBytes"
        from (select * from segments where looked_at <= ${before} order by looked_at limit ${limit}) s
        cross join lateral (select coalesce(sum(sealed_bytes), 0)::int as "liveBytes" from source_chunks
          where segment_id = s.id) live`,
  );
}

/** Marks segments as looked at. */
export async function markLookedAt(db: Db, ids: readonly string[], lookedAt: Date): Promise<void> {
  await query(db, sql`update segments set looked_at = ${lookedAt} where id = any(${arrayOf("text", ids)})`);
}

/**
 * Marks segments without pieces as dead. It waits for a transaction that gives pieces a place there, and from then on no other one does. So
 * a dead segment that is seen without pieces afterwards never has any again.
 */
export async function markDead(db: Db, ids: readonly string[], deadAt: Date): Promise<void> {
  await query(
    db,
    sql`update segments set looked_at = ${deadAt}, dead_at = ${deadAt} where id = any(${arrayOf("text", ids)})`,
  );
}

/** Lists the pieces in a segment, in the order of their ids. */
export function listPlacedPieces(db: Db, segmentId: string): Promise<PlacedPiece[]> {
  return query(
    db,
    sql`select source_id as "sourceId", part, seq, segment_id as "from", segment_at as "segmentAt", sealed_bytes as "sealedBytes",
          seal_key as "sealKey"
        from source_chunks where segment_id = ${segmentId} order by source_id, part, seq`,
  );
}

/** Removes the row of a segment whose object is removed. */
export async function removeSegment(db: Db, id: string): Promise<void> {
  await query(db, sql`delete from segments where id = ${id}`);
}
