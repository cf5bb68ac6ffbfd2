import { Refusal } from "../errors.ts";
import type { Limited } from "../limits.ts";

/**
 * What a key may do within its reach. `full`: everything. `agent`: reads, sends, marks, waits and streams. `send`: sends
 * and replies, without reading mail. `read`: reads. `ingest`: only hands in received mail.
 */
export const accesses = ["full", "agent", "send", "read", "ingest"] as const;

export type Access = (typeof accesses)[number];

/** The part of an account that a caller reaches. At most one of `inboxId` and `externalId` is set; with neither it is the whole account. */
export interface Reach {
  readonly accountId: string;
  /** The only inbox. */
  readonly inboxId?: string | undefined;
  /** Only the inboxes with this `externalId`, now and later. */
  readonly externalId?: string | undefined;
}

export function isWholeAccount({ inboxId, externalId }: Reach): boolean {
  return inboxId === undefined && externalId === undefined;
}

/** A caller of the API: a key, or a token or a session of a key. */
export interface Caller extends Readonly<Limited> {
  /** The id of the account. */
  readonly id: string;
  /** The key itself, or the key that made the token or the session. */
  readonly keyId: string;
  readonly kind: "key" | "token" | "session" | "operator";
  readonly access: Access;
  readonly reach: Reach;
  /** When the key, the token or the session ends; undefined for never. */
  readonly expiresAt?: Date | undefined;
}

/** A key that may do everything in the whole account. */
export function wholeAccount({ id, plan, limits = {} }: Pick<Caller, "id" | "plan" | "limits">, keyId: string): Caller {
  return { id, plan, limits, keyId, kind: "key", access: "full", reach: { accountId: id } };
}

/**
 * Who may call an operation. `open`: everybody, or the operation checks its caller itself. `any`: every key. `account`:
 * a key with access `full` that reaches the whole account. The others are the accesses that suffice.
 */
export const callers = {
  open: accesses,
  any: accesses,
  read: ["full", "agent", "read"],
  send: ["full", "agent", "send"],
  "read or send": ["full", "agent", "send", "read"],
  agent: ["full", "agent"],
  full: ["full"],
  account: ["full"],
  ingest: ["full", "ingest"],
} as const satisfies Record<string, readonly Access[]>;

export type MayCall = keyof typeof callers;

/** Throws `forbidden` if the access or the reach of the caller does not suffice. `doing` begins the message: "create inbox". */
export function refuseWithout(mayCall: MayCall, { access, reach, kind }: Caller, doing: string): void {
  const enough: readonly Access[] = callers[mayCall];
  if (!enough.includes(access)) {
    throw forbidden(
      mayCall,
      `Cannot ${doing}: the ${kind} has the access "${access}", and this needs "${leastAccess(mayCall)}"`,
    );
  }
  if (mayCall === "account" && !isWholeAccount(reach)) throw onlyForAccount(doing, kind);
}

/** The refusal of an operation on the whole account, for a caller that reaches a part of it. */
export function onlyForAccount(doing: string, kind: Caller["kind"]): Refusal {
  return forbidden("account", `Cannot ${doing}: the ${kind} reaches only a part of the account`);
}

function forbidden(mayCall: MayCall, message: string): Refusal {
  return new Refusal("forbidden", message, { extra: { required_access: leastAccess(mayCall) } });
}

/** The least access that suffices. */
export function leastAccess(mayCall: MayCall): Access {
  const enough = callers[mayCall];
  return enough[enough.length - 1] ?? "full";
}
