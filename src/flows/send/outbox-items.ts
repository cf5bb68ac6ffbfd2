import { type Db, transaction } from "../../database/db.ts";
import type { Actor } from "../../domain/access/actor.ts";
import type { AuditAction } from "../../domain/access/audit.ts";
import { cursorAtRow, type RowKey } from "../../domain/cursor.ts";
import { notFound } from "../../domain/errors.ts";
import { isItemId } from "../../domain/outbox-item.ts";
import {
  deleteDelivery,
  findItem,
  type ItemsPage,
  type ListedItem,
  listItems,
  markItemReady,
  type VisibleItems,
} from "../../store/outbox/listed-items.ts";
import { audit } from "../audit.ts";
import type { Deps } from "../deps.ts";
import { cancelMail, sendInProgress } from "./cancel-mail.ts";

export interface ItemsRequest extends Omit<ItemsPage, "after"> {
  after: RowKey | undefined;
  /** The query that a cursor of this list belongs to. */
  question: unknown;
}

/** The outbox of an account, oldest first. */
export async function pageItems({ db }: Deps, { after, question, limit, ...asked }: ItemsRequest) {
  const found = await listItems(db.api, {
    ...asked,
    after: after && { createdAt: new Date(Number(after.number)), id: after.id },
    limit: limit + 1,
  });
  const shown = found.slice(0, limit);
  const last = found.length > limit ? shown.at(-1) : undefined;
  return { items: shown, nextCursor: last === undefined ? null : cursorAtRow(keyOfItem(last), question) };
}

function keyOfItem({ id, createdAt }: ListedItem): RowKey {
  return { number: String(createdAt.getTime()), id };
}

export async function ownedItem({ db }: Pick<Deps, "db">, visible: VisibleItems, id: string): Promise<ListedItem> {
  const item = isItemId(id) ? await findItem(db.api, visible, id) : undefined;
  if (item === undefined) throw notFound("outbox_item");
  return item;
}

/** The one who changes an item, and the items that it may see. */
export interface ItemActor extends VisibleItems {
  actor: Actor;
}

/** Makes a waiting item ready now. Other items stay as they are. */
export async function retryItem(deps: Deps, by: ItemActor, id: string): Promise<ListedItem> {
  const kind = await transaction(deps.db.api, async (tx) => {
    const kind = isItemId(id) ? await markItemReady(tx, by, id) : undefined;
    if (kind !== undefined) await auditItem(tx, deps, by, "outbox.retried", id);
    return kind;
  });
  const item = await ownedItem(deps, by, id);
  // If this call made the item ready, an attempt may already be under way, which is not an error.
  if (kind === undefined && item.state === "running") throw sendInProgress("retry outbox item");
  if (kind !== undefined) deps.nudge(kind);
  return item;
}

/** Removes a delivery from the outbox, or cancels a mail for all destinations, each of which is an item. */
export async function giveUpItem(deps: Deps, by: ItemActor, id: string): Promise<void> {
  const isDeleted = await transaction(deps.db.api, async (tx) => {
    const isDeleted = isItemId(id) && (await deleteDelivery(tx, by, id));
    if (isDeleted) await auditItem(tx, deps, by, "outbox.canceled", id);
    return isDeleted;
  });
  if (isDeleted) return;
  const { messageId } = await ownedItem(deps, by, id);
  if (messageId === null) throw sendInProgress("cancel outbox item");
  await cancelMail(deps, { ...by.reach, actor: by.actor }, messageId);
}

function auditItem(tx: Db, deps: Deps, { reach, actor }: ItemActor, action: AuditAction, id: string): Promise<void> {
  const { accountId } = reach;
  return audit(tx, deps, deps.now(), { action, accountId, actor, target: { type: "outbox_item", id } });
}
