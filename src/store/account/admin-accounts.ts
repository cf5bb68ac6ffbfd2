import { sql } from "drizzle-orm";
import { type Db, jsonb, query } from "../../database/db.ts";
import type { Suspension } from "../../domain/access/suspension.ts";
import { type Selected, selected } from "../columns.ts";
import { accounts } from "../schema.ts";

const adminFields = selected(accounts, "a", [
  "id",
  "name",
  "plan",
  "createdAt",
  "limits",
  "suspended",
  "suspendedReason",
  "movedTo",
  "retentionDays",
  "inboxCount",
  "storageBytes",
  "deletedAt",
  "searchWords",
]);

/** An account as its operator sees it. */
export type AdminAccount = Selected<typeof adminFields> & { lastUsedAt: Date | null };

const shown = sql`${adminFields}, (select max(k.last_used_at) from api_keys k where k.account_id = a.id) as "lastUsedAt"`;

export interface AdminAccountPage {
  /** A part of the name, or the id. */
  text: string | undefined;
  /** Whether the account is suspended. */
  isSuspended: boolean | undefined;
  limit: number;
  offset: number;
}

/** Lists accounts, the newest first, and deleted ones that are not removed yet. */
export function listAdminAccounts(db: Db, page: AdminAccountPage): Promise<AdminAccount[]> {
  return query(
    db,
    sql`select ${shown} from accounts a where ${chosen(page)} order by a.id desc limit ${page.limit} offset ${page.offset}`,
  );
}

export async function countAdminAccounts(db: Db, page: AdminAccountPage): Promise<number> {
  const [counted] = await query<{ total: number }>(
    db,
    sql`select count(*) as total from accounts a where ${chosen(page)}`,
  );
  return counted?.total ?? 0;
}

function chosen({ text, isSuspended }: AdminAccountPage) {
  const named = text === undefined ? sql`true` : sql`(strpos(lower(a.name), lower(${text})) > 0 or a.id = ${text})`;
  if (isSuspended === undefined) return named;
  return sql`${named} and a.suspended is ${isSuspended ? sql`not null` : sql`null`}`;
}

export async function findAdminAccount(db: Db, id: string): Promise<AdminAccount | undefined> {
  const [account] = await query<AdminAccount>(db, sql`select ${shown} from accounts a where a.id = ${id}`);
  return account;
}

/** Locks an account that is not deleted. */
export async function lockAdminAccount(tx: Db, id: string): Promise<AdminAccount | undefined> {
  const [account] = await query<AdminAccount>(
    tx,
    sql`select ${shown} from accounts a where a.id = ${id} and a.deleted_at is null for update of a`,
  );
  return account;
}

export interface ChangedAccount
  extends Pick<
    AdminAccount,
    "id" | "name" | "plan" | "limits" | "suspendedReason" | "movedTo" | "deletedAt" | "searchWords"
  > {
  suspended: Suspension | null;
}

/** Writes an account. Returns false and writes nothing if another account has the name. */
export async function markAccountChanged(tx: Db, account: ChangedAccount): Promise<boolean> {
  const { id, name, plan, limits, suspended, suspendedReason, movedTo, deletedAt, searchWords } = account;
  const changed = await query(
    tx,
    sql`update accounts set name = ${name}, plan = ${plan}, limits = ${jsonb(limits)}, suspended = ${suspended},
          suspended_reason = ${suspendedReason}, moved_to = ${movedTo}, deleted_at = ${deletedAt},
          search_words = ${searchWords}
        where id = ${id} and not exists (select from accounts o where o.name = ${name} and o.id <> ${id}) returning 1`,
  );
  return changed.length === 1;
}
