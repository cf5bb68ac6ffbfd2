import { transaction } from "../../database/db.ts";
import type { Reach } from "../../domain/access/access.ts";
import type { ActorIn } from "../../domain/access/actor.ts";
import { cursorAtRow } from "../../domain/cursor.ts";
import { notFound } from "../../domain/errors.ts";
import { isId } from "../../domain/ids.ts";
import {
  findQuarantined,
  listQuarantined,
  type QuarantinedMail,
  type QuarantinePage,
  removeQuarantined,
} from "../../store/mail/quarantine.ts";
import { audit } from "../audit.ts";
import type { Deps } from "../deps.ts";

export interface AskedQuarantine extends Omit<QuarantinePage, "at"> {
  /** The query that a cursor of this list belongs to. */
  question: unknown;
}

/** A page of the quarantine, newest first. */
export async function pageQuarantine(deps: Deps, { question, ...page }: AskedQuarantine) {
  const found = await listQuarantined(deps.db.api, { ...page, limit: page.limit + 1, at: deps.now() });
  const data = found.slice(0, page.limit);
  const last = found.length > page.limit ? data.at(-1) : undefined;
  return { data, nextCursor: last === undefined ? null : cursorAtRow({ number: "0", id: last.id }, question) };
}

export async function ownedQuarantined(deps: Deps, reach: Reach, id: string): Promise<QuarantinedMail> {
  const found = isId("qua", id) ? await findQuarantined(deps.db.api, { reach, id, at: deps.now() }) : undefined;
  if (found === undefined) throw notFound("quarantined_mail");
  return found;
}

/** Deletes a quarantined mail with its bytes. A message that it became stays. */
export async function deleteQuarantined(deps: Deps, { actor, ...reach }: ActorIn & Reach, id: string): Promise<void> {
  const { accountId } = reach;
  const at = deps.now();
  await ownedQuarantined(deps, reach, id);
  await transaction(deps.db.api, async (tx) => {
    const [removed] = await removeQuarantined(tx, [id]);
    if (removed === undefined) throw notFound("quarantined_mail");
    const target = { type: "quarantined_mail", id } as const;
    const details = { reason: removed.reason };
    await audit(tx, deps, at, { action: "quarantine.deleted", accountId, actor, target, details });
  });
}
