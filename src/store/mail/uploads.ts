import { type SQL, sql } from "drizzle-orm";
import { type Db, query, transaction } from "../../database/db.ts";
import type { UploadReach } from "../../domain/access/access.ts";
import type { Chunk } from "../../domain/receive/filed-mails.ts";
import { type Selected, selected } from "../columns.ts";
import { insertion } from "../rows.ts";
import { uploads } from "../schema.ts";
import { releaseShares } from "./shares.ts";

/*
 * An upload has one share of its source. When the upload expires, the share is released and `source_id` becomes "". The row remains, so
 * that a repeated request is recognised. An incomplete upload cannot be used, but counts against the limit of its account.
 */

const uploadFields = selected(uploads, "u", [
  ...(["id", "filename", "contentType", "sizeBytes", "digest", "createdAt", "expiresAt"] as const),
]);

export type Upload = Omit<Selected<typeof uploadFields>, "digest"> & { digest: string };

export interface NewUpload {
  id: string;
  accountId: string;
  /** The caller that made it; "" for files that are never uploaded by themselves. */
  madeBy: string;
  sourceId: string;
  filename: string;
  contentType: string;
  /** The size that counts against the limit until the upload is complete and its true size is known. */
  sizeBytes: number;
  createdAt: Date;
  expiresAt: Date;
}

/** The limit of an account in bytes: for all its uploads, or only for those that are not complete yet (`coming`). */
export interface Room {
  mostBytes: number;
  among: "all" | "coming";
}

/**
 * Inserts an upload after locking the account, so that the limit is exact. If there is no room, it writes nothing, and returns the time at
 * which the first upload expires.
 */
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
 * Inserts one piece of an upload. The first piece also counts the share of the upload. Returns false and writes nothing if the upload was
 * pruned meanwhile, because nothing would ever delete the piece.
 */
export async function insertPiece(db: Db, uploadId: string, sourceId: string, chunk: Chunk): Promise<boolean> {
  const { part, seq, compressed, bytes } = chunk;
  const shares = part === 0 && seq === 0 ? 1 : null;
  const written = await query(
    db,
    // The bytes are a parameter by themselves: an array would be one more copy of them.
    sql`insert into source_chunks (source_id, part, seq, compressed, shares, bytes)
        select ${sourceId}, ${part}::int4, ${seq}::int4, ${compressed}::bool, ${shares}::int4, ${bytes}::bytea
        from uploads where id = ${uploadId} and completed_at is null for share
        returning 1`,
  );
  return written.length === 1;
}

/** Completes an upload, so that requests can name it. False if it is complete already or does not exist. */
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

/** Whether a caller may use an upload `u`. */
export function isUsable({ accountId, madeBy }: UploadReach): SQL {
  return sql`u.account_id = ${accountId} ${madeBy === undefined ? sql`` : sql`and u.made_by = ${madeBy}`}`;
}

/** Finds an upload that is complete and has not expired. */
export async function findUpload(db: Db, usable: UploadReach, id: string, now: Date): Promise<Upload | undefined> {
  const [upload] = await query<Upload>(
    db,
    sql`select ${uploadFields} from uploads u where u.id = ${id} and ${isUsable(usable)}
        and u.completed_at is not null and u.expires_at > ${now} and u.source_id <> ''`,
  );
  return upload;
}

/** Expires an upload now. False if it has expired already or does not exist. */
export function expireUpload(db: Db, usable: UploadReach, id: string, now: Date): Promise<boolean> {
  return transaction(db, async (tx) => {
    const over = await query<{ sourceId: string }>(
      tx,
      sql`with living as materialized (select u.id, u.source_id from uploads u where u.id = ${id} and ${isUsable(usable)}
            and u.completed_at is not null and u.expires_at > ${now} and u.source_id <> '' for update)
          update uploads u set source_id = '', expires_at = ${now} from living where u.id = living.id
          returning living.source_id as "sourceId"`,
    );
    await releaseShares(
      tx,
      over.map(({ sourceId }) => sourceId),
    );
    return over.length === 1;
  });
}

/** Removes an upload that only one request used. If a mail has attached its file, the bytes stay, because the mail has its own share. */
export function removeUpload(db: Db, id: string): Promise<void> {
  return transaction(db, async (tx) => {
    const gone = await query<{ sourceId: string }>(
      tx,
      sql`delete from uploads where id = ${id} returning source_id as "sourceId"`,
    );
    await releaseShares(
      tx,
      gone.map(({ sourceId }) => sourceId),
    );
  });
}

/**
 * Releases the bytes of expired uploads, and removes those that were never completed. Returns how many. It needs two statements: the first
 * waits for a piece that is just being written, and only a statement that begins after that sees the piece.
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
  await releaseShares(
    tx,
    over.map(({ sourceId }) => sourceId),
  );
  return over.length;
}

/** Removes up to `limit` uploads that expired at `instant` or before, and whose bytes are released. Returns how many. */
export async function removeUploadsBefore(tx: Db, instant: Date, limit: number): Promise<number> {
  const removed = await query(
    tx,
    sql`delete from uploads where id = any(array(
          select id from uploads where expires_at <= ${instant} and source_id = '' order by expires_at limit ${limit})) returning 1`,
  );
  return removed.length;
}
