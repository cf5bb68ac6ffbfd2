import { Refusal } from "../errors.ts";
import { type SendPolicy, strictest } from "../policy.ts";
import { type Access, type Caller, onlyForAccount, type Reach } from "./access.ts";

/** The rights of a key, their reach, the addresses for its use, and its end. */
export interface KeySettings {
  access: Access;
  /** The only inbox that it reaches; null for more than one. */
  inboxId: string | null;
  /** The only `externalId` that it reaches; null for all. At most one of the two is set. */
  externalId: string | null;
  /** Blocks of addresses; empty for any address. */
  allowedIps: readonly string[];
  /** Null for never. */
  expiresAt: Date | null;
  /** The policy for what is sent with it; null for none of its own. */
  sendPolicy: SendPolicy | null;
}

/** The settings of a key that may do everything in its account. */
export const wholeKey: KeySettings = {
  access: "full",
  inboxId: null,
  externalId: null,
  allowedIps: [],
  expiresAt: null,
  sendPolicy: null,
};

/** A caller may make keys for a part of its reach. A key that a tenant's key makes reaches that tenant, or one inbox of it. */
export function keyWithin(reach: Reach, asked: KeySettings): KeySettings {
  const { externalId } = reach;
  if (externalId === undefined) return asked;
  if (asked.externalId !== null && asked.externalId !== externalId) throw onlyForAccount("create key", "key");
  return asked.inboxId === null ? { ...asked, externalId } : asked;
}

/** Refuses a key with a milder `sendPolicy` than that of the caller's own key, because the caller would send with it what it may not. */
export function refuseMilder(own: SendPolicy | undefined, asked: SendPolicy | null, doing: string): void {
  if (own === undefined || strictest(own, asked ?? "open") === (asked ?? "open")) return;
  throw new Refusal("forbidden", `Cannot ${doing}: its "sendPolicy" would be milder than "${own}", that of your key`, {
    extra: { required_access: "full" },
  });
}

/** The accesses of the tokens that a key makes: at most its own, and never `full` or `ingest`. */
export const tokenAccesses = ["read", "send", "agent"] as const;

export type TokenAccess = (typeof tokenAccesses)[number];

/** Whether a key with this access makes tokens with another one. */
export function mayGrant(own: Access, access: TokenAccess): boolean {
  return own === "full" || own === "agent" || own === access;
}

/** The last key that may do everything in an account stays: without it nobody could make others. */
export function lastKey(doing: string): Refusal {
  return new Refusal("last_key", `Cannot ${doing}: it is the last key that manages the account`);
}

/** The maker of a key, as the key names it: the id of a key, or `operator`. */
export function makerOfKeys({ kind, keyId }: Pick<Caller, "kind" | "keyId">): string {
  return kind === "operator" ? "operator" : keyId;
}
