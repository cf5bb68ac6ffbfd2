import { getTableColumns, type SQL, sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "../../database/db.ts";
import { type Caller, uploadsOf } from "../../domain/access/access.ts";
import type { FoundFile } from "../../domain/send/attachments.ts";
import type { FiledFiles, SentAttachment } from "../../domain/send/files-of-send.ts";
import { columnNames, fieldsOf, selected } from "../columns.ts";
import { rowsInserted, sourceRows } from "../mail/sources.ts";
import { isUsable } from "../mail/uploads.ts";
import { isReached } from "../reach.ts";
import { recordsOf, recordsWith } from "../rows.ts";
import { attachments, messages } from "../schema.ts";

export interface NamedFiles {
  uploadIds: readonly string[];
  /** Attachments of messages, each by its message and its stored filename. */
  attachments: readonly { messageId: string; filename: string }[];
}

/** The files that were found, by their index in `NamedFiles`. If an upload has expired, its `sourceId` is "". */
export interface FilesFound {
  uploads: ReadonlyMap<number, FoundFile>;
  attachments: ReadonlyMap<number, FoundFile>;
}

type FoundRow = FoundFile & { kind: "upload" | "attachment"; index: number };

/** Finds files that a caller may use, in one statement. Its time does not show whether a file is missing or beyond the reach. */
export async function findFiles(db: Db, caller: Caller, named: NamedFiles, now: Date): Promise<FilesFound> {
  const messageIds = named.attachments.map(({ messageId }) => messageId);
  const filenames = named.attachments.map(({ filename }) => filename);
  const rows = await query<FoundRow>(
    db,
    sql`select 'upload' as kind, (asked.number - 1)::int as index, u.filename, u.content_type as "contentType",
          u.size_bytes::float8 as "sizeBytes", u.digest, case when u.expires_at > ${now} then u.source_id else '' end as "sourceId", 0 as part
        from unnest(${arrayOf("text", named.uploadIds)}) with ordinality as asked (id, number)
        cross join lateral (select * from uploads u
          where u.id = asked.id and ${isUsable(uploadsOf(caller))} and u.completed_at is not null limit 1) u
        union all
        select 'attachment', (asked.number - 1)::int, a.filename, a.content_type, a.size_bytes, a.digest, a.source_id, a.part
        from unnest(${arrayOf("text", messageIds)}, ${arrayOf("text", filenames)}) with ordinality as asked (message_id, filename, number)
        cross join lateral (select * from attachments where message_id = asked.message_id and filename = asked.filename limit 1) a
        cross join lateral (select inbox_id from messages where id = asked.message_id
          union all select inbox_id from drafts where id = asked.message_id limit 1) m
        cross join lateral (select from inboxes i
          where i.id = m.inbox_id and ${isReached(caller.reach)} limit 1) i`,
  );
  const of = (wanted: FoundRow["kind"]) =>
    new Map(rows.flatMap(({ kind, index, ...file }) => (kind === wanted ? [[index, file] as const] : [])));
  return { uploads: of("upload"), attachments: of("attachment") };
}

/** Lists the files of drafts, in order, as a send has them. */
export async function listDraftFiles(
  db: Db,
  draftIds: readonly string[],
): Promise<{ messageId: string; file: SentAttachment }[]> {
  if (draftIds.length === 0) return [];
  const rows = await query<typeof attachments.$inferSelect>(
    db,
    sql`select ${draftFileFields} from attachments a where a.message_id = any(${arrayOf("text", draftIds)})
        order by a.message_id, a.position`,
  );
  return rows.map(({ messageId, contentId, digest: sha256, ...file }) => {
    const { filename, contentType, sizeBytes, inline, sourceId, part } = file;
    const printed = { filename, contentType, sizeBytes, inline, contentId: contentId ?? undefined, sha256 };
    return { messageId, file: { ...printed, sourceId, part, from: "attachment" } };
  });
}

const draftFileFields = selected(attachments, "a");

/** Lists the ids among these whose source has no bytes any more. */
export async function listLostSources(db: Db, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const lost = await query<{ id: string }>(
    db,
    sql`select asked.id from unnest(${arrayOf("text", ids)}) as asked (id)
        left join lateral (select source_id from source_chunks where source_id = asked.id and part = 0 and seq = 0 limit 1) c on true
        where c.source_id is null`,
  );
  return new Set(lost.map(({ id }) => id));
}

/** Parts of the statement that writes sends (sending.ts), for sends with files. */
export interface FilesWriting {
  /** Locks the sources that the sends name, so that none is removed before the statement ends. */
  held: SQL;
  /** A condition, which begins with `and`: all sources that sends of the inbox `row.id` name exist. */
  areHeld: SQL;
  /** Inserts the attachments and the new sources, and adds shares of the others, for sends of the inboxes in the set `sender`. */
  written: SQL;
}

/** Returns the parts for these sends. They are empty if no send has a file, so that the statement stays short. */
export function filesWriting(files: readonly FiledFiles[]): FilesWriting {
  if (files.length === 0) return { held: nothing, areHeld: nothing, written: nothing };
  const own = files.flatMap(({ source, inboxId }) => (source === undefined ? [] : [{ inboxId, sourceId: source.id }]));
  const sources = files.flatMap(({ source }) => source ?? []);
  return {
    held: sql`wanted as materialized (select * from ${recordsOf(wantedSources, files.flatMap(wantedOf))}),
      held as materialized (
        select of_source."sourceId" from (select distinct "sourceId" from wanted order by "sourceId") of_source
        cross join lateral (select from source_chunks
          where source_id = of_source."sourceId" and part = 0 and seq = 0 for update) piece
      ),`,
    areHeld: sql` and not exists (select from wanted
      where wanted."inboxId" = row.id and wanted."sourceId" not in (select "sourceId" from held))`,
    written: sql`attached as (${attachmentInto} from ${recordsOf(filedAttachments, files.flatMap(rowsOf))}
        where row."inboxId" in (select id from sender)),
      shared as (update source_chunks c set shares = c.shares + taken.holders from (
          select "sourceId", count(*) as holders from wanted where "inboxId" in (select id from sender) group by "sourceId") taken
        where c.source_id = taken."sourceId" and c.part = 0 and c.seq = 0),
      source as (${rowsInserted(sourceRows(sources))} where chunk.source_id in (
        select "sourceId" from ${recordsOf(wantedSources, own)} where "inboxId" in (select id from sender))),`,
  };
}

const nothing = sql``;

/** Lists the existing sources that a mail uses, each once, even if the mail has several parts of it. */
function wantedOf({ inboxId, attachments, source }: FiledFiles): { inboxId: string; sourceId: string }[] {
  const ids = new Set(attachments.map(({ sourceId }) => sourceId).filter((id) => id !== source?.id));
  return [...ids].map((sourceId) => ({ inboxId, sourceId }));
}

function rowsOf({ messageId, inboxId, attachments, attachmentIds }: FiledFiles) {
  return attachments.map(({ sha256, contentId = null, ...attachment }, position) => ({
    ...attachment,
    messageId,
    inboxId,
    position,
    contentId,
    digest: sha256,
    id: attachmentIds[position],
  }));
}

const attachmentFields = Object.keys(getTableColumns(attachments)) as (keyof typeof attachments.$inferSelect)[];
const filedAttachments = recordsWith({ ...getTableColumns(attachments), inboxId: messages.inboxId });
const attachmentInto = sql`insert into attachments (${columnNames(attachments, attachmentFields)}) select ${fieldsOf("row", attachmentFields)}`;
const wantedSources = recordsWith({ inboxId: messages.inboxId, sourceId: attachments.sourceId });
