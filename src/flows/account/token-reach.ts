import type { TokenClaims } from "../../domain/access/token.ts";
import { readByToken } from "../../domain/access/token-reach.ts";
import { notFound, Refusal } from "../../domain/errors.ts";
import { isOfInbox } from "../../store/account/inboxes.ts";
import type { Deps } from "../deps.ts";

/** A caller with a key, or with a token. */
export interface Caller {
  token?: Pick<TokenClaims, "inboxId">;
}

/**
 * Refuses a request that its token may not make: a token may only read, and a token for one inbox finds only that inbox and what is in it.
 * Keys may do everything.
 */
export async function refuseBeyondToken(
  { db }: Pick<Deps, "db">,
  { token }: Caller,
  { method, path }: { method: string; path: string },
): Promise<void> {
  if (token === undefined) return;
  const asked = readByToken(method, path);
  if (asked === "forbidden") {
    throw new Refusal("forbidden", "Cannot do this: a token may only read inboxes, mail and events");
  }
  const { inboxId } = token;
  if (asked === "all" || inboxId === undefined) return;
  const { resource, id } = asked;
  const table = resource === "attachment" ? "message" : resource;
  const isWithin = table === "inbox" ? id === inboxId : await isOfInbox(db.api, table, id, inboxId);
  if (!isWithin) throw notFound(resource);
}

/**
 * Limits the requested inboxes (undefined: all) to those that the caller may reach. A token for one inbox gets that inbox; any other
 * requested inbox is refused as missing.
 */
export function reachedInboxes(
  { token }: Caller,
  inboxIds: readonly string[] | undefined,
): readonly string[] | undefined {
  const only = token?.inboxId;
  if (only === undefined) return inboxIds;
  if (inboxIds?.some((id) => id !== only)) throw notFound("inbox");
  return [only];
}
