import { sql } from "drizzle-orm";
import { type Database, query } from "../../src/database/db.ts";
import type { Ledger, LedgerDraft } from "./ledger.ts";

interface Row {
  id: string;
  state: string;
  /** Its events message.failed. */
  failed: number;
  /** When its message was made; null if there is none. */
  sentMs: number | null;
}

/** Each draft became what its client was told, with one event if it ended unsent, and was relayed only then, and as it was last changed. */
export async function checkDrafts(ledger: Ledger, db: Database): Promise<void> {
  const rows = await query<Row>(
    db.api,
    sql`select d.id, d.state, (select extract(epoch from created_at) * 1000 from messages where id = d.id)::float8 as "sentMs",
          (select count(*) from events where message_id = d.id and type = 'message.failed') as failed from drafts d`,
  );
  const rowOf = new Map(rows.map((row) => [row.id, row]));
  for (const draft of ledger.drafts.values()) {
    checkRelayed(ledger, draft);
    if (draft.end !== undefined) checkEnd(ledger, draft, rowOf.get(draft.id));
  }
}

/** The states that a draft may have. One that was canceled in the outbox was sent before. */
const states: Readonly<Record<NonNullable<LedgerDraft["end"]>, readonly string[]>> = {
  sent: ["sent"],
  canceled: ["canceled", "sent"],
  rejected: ["rejected"],
  expired: ["expired"],
  waiting: ["awaiting_approval"],
  left: ["draft"],
  removed: ["not there"],
};

function checkEnd(ledger: Ledger, { id, dueMs, end = "left" }: LedgerDraft, row: Row | undefined): void {
  const about = `draft ${id}, which was ${end},`;
  const { state, sentMs, failed } = row ?? { state: "not there", sentMs: null, failed: 0 };
  if (!states[end].includes(state)) ledger.violation("drafts", `${about} is ${state}`);
  if (["canceled", "rejected", "expired"].includes(end) && failed !== 1)
    ledger.violation("I3", `${about} has ${failed} events`);
  // The service estimates the clock of the database.
  if (sentMs !== null && sentMs < dueMs - 100)
    ledger.violation("drafts", `${about} was sent ${Math.round(dueMs - sentMs)} ms before its time`);
}

function checkRelayed(ledger: Ledger, { send: { token }, id, texts, relayed, end }: LedgerDraft): void {
  const taken = ledger.acceptances.get(token) ?? [];
  if (end !== undefined && end !== "sent" && taken.length > 0)
    ledger.violation("drafts", `${id} (${token}) was ${end}, and the relay took it`);
  for (const text of relayed) {
    if (!texts.has(text)) ledger.violation("drafts", `${id} (${token}) was sent with text ${text}, not ${[...texts]}`);
  }
}
