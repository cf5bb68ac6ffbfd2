import { sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "../../database/db.ts";
import type { Draft } from "../../domain/send/draft.ts";
import { type Selected, selected } from "../columns.ts";
import { drafts, inboxes } from "../schema.ts";
import { draftFields } from "./drafts.ts";

const ofInbox = selected(inboxes, "i", ["username", "externalId", "displayName", "approvers"]);

/** A draft with what its inbox says about approvals. */
export interface DraftToApprove extends Draft, Selected<typeof ofInbox> {}

const toApprove = sql`${selected(drafts, "d", draftFields)}, ${ofInbox}
  from drafts d join inboxes i on i.id = d.inbox_id join accounts a on a.id = d.account_id
  where i.deleted_at is null and a.deleted_at is null`;

/** Finds a draft of any account. */
export async function findDraftToApprove(db: Db, id: string): Promise<DraftToApprove | undefined> {
  const [draft] = await query<DraftToApprove>(db, sql`select ${toApprove} and d.id = ${id}`);
  return draft;
}

/** Lists those of these drafts that wait for approval, by the time since which they wait. */
export async function listAwaiting(db: Db, ids: readonly string[]): Promise<DraftToApprove[]> {
  return query(
    db,
    sql`select ${toApprove} and d.id = any(${arrayOf("text", ids)}) and d.state = 'awaiting_approval'
        order by array_position(${arrayOf("text", ids)}, d.id::text)`,
  );
}
