import type { Caller, Reach } from "../../domain/access/access.ts";
import { namedIn } from "../../domain/access/token-reach.ts";
import { notFound } from "../../domain/errors.ts";
import { isOfInbox } from "../../store/account/inboxes.ts";
import type { Deps } from "../deps.ts";

/** Throws `not_found` if the caller reaches one inbox, and the resource in the path belongs to another one. */
export async function refuseBeyondReach(
  { db }: Pick<Deps, "db">,
  { inboxId }: Pick<Reach, "inboxId">,
  path: string,
): Promise<void> {
  const named = inboxId === undefined ? undefined : namedIn(path);
  if (inboxId === undefined || named === undefined) return;
  const { resource, id } = named;
  const table = resource === "attachment" ? "message" : resource;
  const isWithin = table === "inbox" ? id === inboxId : await isOfInbox(db.api, table, id, inboxId);
  if (!isWithin) throw notFound(resource);
}

/**
 * Limits the requested inboxes (undefined: all) to those that the caller may reach. A token for one inbox gets that inbox; any other
 * requested inbox is refused as missing.
 */
export function reachedInboxes(
  { reach: { inboxId: only } }: Pick<Caller, "reach">,
  inboxIds: readonly string[] | undefined,
): readonly string[] | undefined {
  if (only === undefined) return inboxIds;
  if (inboxIds?.some((id) => id !== only)) throw notFound("inbox");
  return [only];
}
