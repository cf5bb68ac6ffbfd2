import { type Db, transaction } from "../../database/db.ts";
import type { Caller, Reach } from "../../domain/access/access.ts";
import { type Actor, service } from "../../domain/access/actor.ts";
import { cursorAtRow } from "../../domain/cursor.ts";
import { notFound } from "../../domain/errors.ts";
import { isId } from "../../domain/ids.ts";
import {
  findGrant,
  type Grant,
  type GrantTurns,
  listGrants,
  lockEndedGrants,
  lockGrantInReach,
  removeGrant,
} from "../../store/account/grants.ts";
import { markKeyRevoked } from "../../store/account/keys.ts";
import { signalToForget } from "../../store/channels.ts";
import { audit } from "../audit.ts";
import type { Deps } from "../deps.ts";

/** A page of the grants within a reach, newest first. */
export async function pageGrants(
  { db, now }: Pick<Deps, "db" | "now">,
  { reach }: Pick<Caller, "reach">,
  { question, beforeId, limit }: { question: unknown; beforeId: string | undefined; limit: number },
): Promise<{ data: Grant[]; nextCursor: string | null }> {
  const found = await listGrants(db.api, { reach, beforeId, limit: limit + 1, now: now() });
  const data = found.slice(0, limit);
  const last = found.length > limit ? data.at(-1) : undefined;
  return { data, nextCursor: last === undefined ? null : cursorAtRow({ number: "0", id: last.id }, question) };
}

/** Throws `not_found` if there is no such grant within the reach. */
export async function ownedGrant({ db, now }: Pick<Deps, "db" | "now">, reach: Reach, id: string): Promise<void> {
  if (!isId("grt", id) || (await findGrant(db.api, reach, id, now())) === undefined) throw notFound("grant");
}

/** Ends a grant: its tokens are refused from now on, in all processes. */
export async function endGrant(deps: Deps, { reach }: Pick<Caller, "reach">, actor: Actor, id: string): Promise<void> {
  await transaction(deps.db.api, async (tx) => {
    const grant = isId("grt", id) ? await lockGrantInReach(tx, reach, id, deps.now()) : undefined;
    if (grant === undefined) throw notFound("grant");
    await endGrantIn(deps, tx, grant, actor);
  });
}

export async function endGrantIn(
  deps: Deps,
  tx: Db,
  { id, keyId, accountId }: Pick<GrantTurns, "id" | "keyId" | "accountId">,
  actor: Actor,
): Promise<void> {
  const at = deps.now();
  await removeGrant(tx, id);
  if ((await markKeyRevoked(tx, keyId, at)) === undefined) return;
  await signalToForget(tx, { kind: "account", id: accountId });
  await audit(tx, deps, at, { action: "grant.ended", accountId, actor, target: { type: "grant", id } });
}

/** Ends the grants whose code or refresh token was not used in time. Returns how many. */
export async function endUnusedGrants(deps: Deps, tx: Db, limit: number): Promise<number> {
  const ended = await lockEndedGrants(tx, deps.now(), limit);
  for (const grant of ended) await endGrantIn(deps, tx, grant, service);
  return ended.length;
}
