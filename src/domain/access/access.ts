import { Refusal } from "../errors.ts";
import type { Limited } from "../limits.ts";
import type { SendPolicy } from "../policy.ts";

/**
 * The rights of a key within its reach. `full`: everything. `agent`: reads, sends, marks, waits and streams. `send`: sends
 * and replies, and cancels its own mail, without reading mail. `read`: reads. `ingest`: only hands in received mail.
 */
export const accesses = ["full", "agent", "send", "read", "ingest"] as const;

export type Access = (typeof accesses)[number];

/** The part of an account that a caller reaches: the whole account without `inboxId` and `externalId`; with both, both must hold. */
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

/** Whether a caller may do everything in the whole account. */
export function reachesAll({ access, reach }: Pick<Caller, "access" | "reach">): boolean {
  return access === "full" && isWholeAccount(reach);
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
  /** The blocks of addresses from which the key may be used; none for any address. */
  readonly allowedIps?: readonly string[];
  /** The policies for what is sent with the key: its own, and for the key of a grant that of the granter too. */
  readonly sendPolicies?: readonly SendPolicy[];
}

export function hasEnded({ expiresAt }: Pick<Caller, "expiresAt">, now: Date): boolean {
  return expiresAt !== undefined && expiresAt <= now;
}

/** A key that may do everything in the whole account. */
export function wholeAccount({ id, plan, limits = {} }: Pick<Caller, "id" | "plan" | "limits">, keyId: string): Caller {
  return { id, plan, limits, keyId, kind: "key", access: "full", reach: { accountId: id } };
}

/**
 * The callers of an operation. `open`: everybody, or the operation checks its caller itself. `any`: every key. `account`:
 * a key with access `full` that reaches the whole account. `full key`: a key with access `full`, and no session of it, so that
 * nobody gets a key out of a browser. The others are the accesses that suffice.
 */
export const callers = {
  open: accesses,
  any: accesses,
  read: ["full", "agent", "read"],
  send: ["full", "agent", "send"],
  "read or send": ["full", "agent", "send", "read"],
  agent: ["full", "agent"],
  full: ["full"],
  "full key": ["full"],
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
  if (mayCall === "full key" && kind === "session") {
    throw forbidden(mayCall, `Cannot ${doing}: a session of the console creates no keys`);
  }
}

/** The `externalId` of a new inbox. A caller that reaches one inbox makes no others; one that reaches an `externalId` makes them with that. */
export function externalIdWithin({ reach, kind }: Caller, asked: string | undefined): string | undefined {
  const forced = reach.externalId;
  if (reach.inboxId !== undefined || (forced !== undefined && asked !== undefined && asked !== forced)) {
    throw onlyForAccount("create inbox", kind);
  }
  return forced ?? asked;
}

/** The tenant that a request is about; undefined for the whole account. For a caller that reaches one tenant it is always that one. */
export function tenantWithin(
  { reach, kind }: Pick<Caller, "reach" | "kind">,
  asked: string | undefined,
  doing: string,
): string | undefined {
  if (isWholeAccount(reach)) return asked;
  if (asked !== undefined && asked !== reach.externalId) throw onlyForAccount(doing, kind);
  return reach.externalId;
}

/** Refuses another `externalId` for an inbox. A caller that reaches an `externalId` could not take back an inbox that it gave away. */
export function refuseToGiveAway({ reach, kind }: Caller, externalId: string | null): void {
  if (reach.externalId !== undefined && externalId !== reach.externalId) throw onlyForAccount("change inbox", kind);
}

/**
 * An `Idempotency-Key` within a reach. Callers with different reaches have keys of their own, so that none sees or blocks a request of
 * another. A key of a client has no blank, so the last blank ends the name of the reach.
 */
export function keyInReach<Key extends string | undefined>({ inboxId, externalId }: Reach, key: Key): Key | string {
  if (key === undefined) return key;
  if (inboxId !== undefined) return `${inboxId} ${key}`;
  return externalId === undefined ? key : `=${externalId} ${key}`;
}

/** The maker of an upload: a key, or a token with its reach. */
export function makerOf({ keyId, reach: { inboxId, externalId } }: Caller): string {
  return [keyId, inboxId ?? "", externalId ?? ""].join(" ");
}

/** The uploads that a caller may use: all of its account, or only those that it has made itself. */
export interface UploadReach {
  readonly accountId: string;
  /** Undefined for all. */
  readonly madeBy: string | undefined;
}

export function uploadsOf(caller: Caller): UploadReach {
  const { id: accountId, access, reach } = caller;
  const usesAll = isWholeAccount(reach) && access !== "send";
  return { accountId, madeBy: usesAll ? undefined : makerOf(caller) };
}

/** The mail that a caller may cancel: all within its reach, or only the mail of its key. */
export interface SentReach extends Reach {
  /** Undefined for the mail of all keys. */
  readonly sentBy?: string | undefined;
}

export function sentReachOf({ reach, access, keyId }: Caller): SentReach {
  return { ...reach, sentBy: access === "send" ? keyId : undefined };
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
