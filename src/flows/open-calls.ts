import { type Caller, hasEnded } from "../domain/access/access.ts";
import { paced } from "../primitives/paced.ts";
import { isInBlocks } from "../standards/ip.ts";
import { type LivingKey, listLivingKeys } from "../store/account/keys.ts";
import type { Deps } from "./deps.ts";

/** A request that stays open: a stream, or a wait for mail. */
export interface OpenCall {
  caller: Pick<Caller, "keyId" | "expiresAt">;
  /** The address of the client; null if the request came by no network. */
  ip: string | null;
  /** Called once, when the caller may not go on: its key or token has expired, or the key is revoked or not for this address. */
  forbid(reason: "expired" | "unauthorized"): void;
}

/** All open requests of this process. It ends those whose caller may not go on. */
export interface OpenCalls {
  /** Adds a request. Returns the function to call when it is over. */
  add(call: OpenCall): () => void;
  /** Looks at the keys of all open requests soon. Called when some key has changed. */
  checkKeys(): void;
  stop(): void;
}

export interface OpenCallsDeps extends Pick<Deps, "db" | "log" | "now"> {
  /** Whether a key exists only in this process, and never ends. */
  isOwnKey?: (keyId: string) => boolean;
  /** The length of a second. It is shorter in tests. */
  secondMs?: number;
}

/** All keys are checked at this interval, since the signal that a key has changed may be lost. */
const keySeconds = 20;

export function openCalls({ db, log, now, isOwnKey = () => false, secondMs = 1_000 }: OpenCallsDeps): OpenCalls {
  const open = new Set<Checked>();
  let seconds = 0;
  // A changed key is refused within a second, so this pause is shorter.
  const keyChecks = paced(secondMs / 2, () => void checkNow());
  const everySecond = setInterval(tick, secondMs);

  function tick(): void {
    seconds += 1;
    const at = now();
    for (const one of open) if (hasEnded(one.call.caller, at) || hasEnded(one, at)) forbid(one, "expired");
    if (seconds % keySeconds === 0) keyChecks.ask();
  }

  async function checkNow(): Promise<void> {
    const checked = Array.from(open).filter(({ call }) => !isOwnKey(call.caller.keyId));
    const keyIds = new Set(checked.map(({ call }) => call.caller.keyId));
    if (keyIds.size === 0) return;
    try {
      const living = new Map((await listLivingKeys(db.api, [...keyIds], now())).map((key) => [key.id, key]));
      for (const one of checked) {
        const key = living.get(one.call.caller.keyId);
        if (key === undefined || !isFrom(key, one.call)) forbid(one, "unauthorized");
        else one.expiresAt = key.expiresAt ?? undefined;
      }
    } catch {
      log.debug("the keys of open requests were not checked");
    }
  }

  function forbid(one: Checked, reason: "expired" | "unauthorized"): void {
    if (open.delete(one)) one.call.forbid(reason);
  }

  return {
    add(call) {
      const one: Checked = { call, expiresAt: undefined };
      open.add(one);
      return () => void open.delete(one);
    },
    checkKeys: keyChecks.ask,
    stop() {
      clearInterval(everySecond);
      keyChecks.stop();
    },
  };
}

interface Checked {
  call: OpenCall;
  /** When its key ends, as it was at the last check: it may have changed since the request began. */
  expiresAt: Date | undefined;
}

function isFrom({ allowedIps }: LivingKey, { ip }: OpenCall): boolean {
  return allowedIps.length === 0 || isInBlocks(ip ?? "", allowedIps);
}
