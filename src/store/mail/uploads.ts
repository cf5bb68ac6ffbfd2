import { sql } from "drizzle-orm";
import { type Db, query, transaction } from "../../database/db.ts";
import type { Chunk } from "../../domain/receive/filed-mails.ts";
import { type Selected, selected } from "../columns.ts";
import { insertion } from "../rows.ts";
import { uploads } from "../schema.ts";
import { giveBackShares } from "./shares.ts";

/*
 * An upload holds a share of its source from before the first piece of it. Once it is over its source is "": the row alone is left, by
 * which a request that comes again is known. One that is not complete counts for nothing but the room that it takes.
 */

const uploadFields = selected(uploads, "u", [
  ...(["id", "filename", "contentType", "sizeBytes", "digest", "createdAt", "expiresAt"] as const),
]);

export type Upload = Omit<Selected<typeof uploadFields>, "digest"> & { digest: string };

export interface NewUpload {
  id: string;
  accountId: string;
  sourceId: string;
  filename: string;
  contentType: string;
  /** What is taken of the allowance as long as the true size is not known. */
  sizeBytes: number;
  createdAt: Date;
  expiresAt: Date;
}

/** What an account may have: so many bytes, of all its uploads or of those alone that are still coming. */
export interface Room {
  mostBytes: number;
  among: "all" | "coming";
}

/** Undefined once it stands; else when the first room becomes free, and nothing is written. Behind a lock, so to the byte. */
export function insertUpload(
  db: Db,
  upload: NewUpload,
  { mostBytes, among }: Room,
): Promise<{ freeAt: Date } | undefined> {
  return transaction(db, async (tx) => {
    await query(tx, sql`select from accounts where id = ${upload.accountId} for update`);
    const [taken] = await query<{ sizeBytes: number; freeAt: Date | null }>(
      tx,
      sql`select coalesce(sum(size_bytes), 0)::float8 as "sizeBytes", min(expires_at) as "freeAt"
          from uploads where account_id = ${upload.accountId} and source_id <> ''
            and (${among} = 'all' or completed_at is null)`,
    );
    if (taken === undefined || taken.sizeBytes + upload.sizeBytes > mostBytes) {
      return { freeAt: taken?.freeAt ?? upload.createdAt };
    }
    await query(tx, insertion(uploads, [upload]));
    return undefined;
  });
}

/**
 * One piece of a source that comes; the first of all has the upload's share. False, and nothing is written, where the upload was swept
 * away meanwhile: its pieces would be nobody's.
 */
export async function insertPiece(db: Db, uploadId: string, sourceId: string, chunk: Chunk): Promise<boolean> {
  const { part, seq, compressed, bytes } = chunk;
  const shares = part === 0 && seq === 0 ? 1 : null;
  const written = await query(
    db,
    // Not by way of an array: that would be one more copy of the bytes.
    sql`insert into source_chunks (source_id, part, seq, compressed, shares, bytes)
        select ${sourceId}, ${part}::int4, ${seq}::int4, ${compressed}::bool, ${shares}::int4, ${bytes}::bytea
        from uploads where id = ${uploadId} and completed_at is null for share
        returning 1`,
  );
  return written.length === 1;
}

/** From now on it can be named. */
export async function markUploadComplete(
  db: Db,
  id: string,
  {
    sizeBytes,
    digest,
    completedAt,
    expiresAt,
  }: { sizeBytes: number; digest: string; completedAt: Date; expiresAt: Date },
): Promise<boolean> {
  const marked = await query(
    db,
    sql`update uploads set size_bytes = ${sizeBytes}, digest = ${digest}, completed_at = ${completedAt}, expires_at = ${expiresAt}
        where id = ${id} and completed_at is null returning 1`,
  );
  return marked.length === 1;
}

/** One that is complete and can still be named. */
export async function findUpload(db: Db, accountId: string, id: string, now: Date): Promise<Upload | undefined> {
  const [upload] = await query<Upload>(
    db,
    sql`select ${uploadFields} from uploads u where u.id = ${id} and u.account_id = ${accountId}
        and u.completed_at is not null and u.expires_at > ${now} and u.source_id <> ''`,
  );
  return upload;
}

/** Ends it before its time. False where it is over already, or was never there. */
export function expireUpload(db: Db, accountId: string, id: string, now: Date): Promise<boolean> {
  return transaction(db, async (tx) => {
    const over = await query<{ sourceId: string }>(
      tx,
      sql`with living as materialized (select id, source_id from uploads where id = ${id} and account_id = ${accountId}
            and completed_at is not null and expires_at > ${now} and source_id <> '' for update)
          update uploads u set source_id = '', expires_at = ${now} from living where u.id = living.id
          returning living.source_id as "sourceId"`,
    );
    await giveBackShares(
      tx,
      over.map(({ sourceId }) => sourceId),
    );
    return over.length === 1;
  });
}

/** Takes away one that nobody shall name: what came with a request and is in its mail now, or in none. */
export function removeUpload(db: Db, id: string): Promise<void> {
  return transaction(db, async (tx) => {
    const gone = await query<{ sourceId: string }>(
      tx,
      sql`delete from uploads where id = ${id} returning source_id as "sourceId"`,
    );
    await giveBackShares(
      tx,
      gone.map(({ sourceId }) => sourceId),
    );
  });
}

/**
 * The bytes of uploads whose time is over, and all of those that never became complete. In two statements: what is still being
 * written to one ends before its row is changed, and only a statement that begins after that sees it.
 */
export async function releaseUploads(tx: Db, now: Date, limit: number): Promise<number> {
  const over = await query<{ sourceId: string }>(
    tx,
    sql`with over as materialized (select id, source_id from uploads where expires_at <= ${now} and source_id <> ''
          order by expires_at limit ${limit} for update),
        unfinished as (delete from uploads u using over where u.id = over.id and u.completed_at is null),
        finished as (update uploads u set source_id = '' from over where u.id = over.id and u.completed_at is not null)
        select source_id as "sourceId" from over`,
  );
  await giveBackShares(
    tx,
    over.map(({ sourceId }) => sourceId),
  );
  return over.length;
}

/** Rows that have outlived their bytes for long enough. */
export async function removeUploadsBefore(tx: Db, instant: Date, limit: number): Promise<number> {
  const removed = await query(
    tx,
    sql`delete from uploads where id = any(array(
          select id from uploads where expires_at <= ${instant} and source_id = '' order by expires_at limit ${limit})) returning 1`,
  );
  return removed.length;
}
