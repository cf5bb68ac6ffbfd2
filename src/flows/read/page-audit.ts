import { cursorAtRow } from "../../domain/cursor.ts";
import { type AuditEntry, type AuditPage, listAuditEntries } from "../../store/account/audit.ts";
import type { Deps } from "../deps.ts";

export interface AskedAudit extends AuditPage {
  /** The query that a cursor of this list belongs to. */
  question: unknown;
}

/** A page of the audit, newest first. */
export async function pageAudit(
  { db }: Pick<Deps, "db">,
  { question, ...page }: AskedAudit,
): Promise<{ data: AuditEntry[]; nextCursor: string | null }> {
  const found = await listAuditEntries(db.api, { ...page, limit: page.limit + 1 });
  const data = found.slice(0, page.limit);
  const last = found.length > page.limit ? data.at(-1) : undefined;
  return { data, nextCursor: last === undefined ? null : cursorAtRow({ number: "0", id: last.id }, question) };
}
