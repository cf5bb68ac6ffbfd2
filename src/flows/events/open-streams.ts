import { paced } from "../../primitives/paced.ts";
import { listLivingKeys } from "../../store/account/accounts.ts";
import type { KeyHolder } from "../account/authenticate.ts";
import { collectPiledUp } from "../collect-garbage.ts";
import type { Deps } from "../deps.ts";
import type { ListenerKind, Listeners } from "../listeners.ts";

/** Why a stream is ended; who is ended by none of these has left. */
export type EndReason = "shutting_down" | "unauthorized" | "slow" | "expired";

/** A client that listens, over SSE or a socket. */
export interface OpenStream {
  caller: Pick<KeyHolder, "id" | "keyId" | "token">;
  /** Bytes that lie here for the client, beside what the kernel has taken. */
  unsentBytes(): number;
  /** Bytes that the client has taken since it connected. */
  takenBytes(): number;
  /** Tells the client that the service is there, and checks that the client is. */
  beat(): void;
  end(reason: EndReason): void;
}

/** All who listen at this process: who may, who still may, who takes nothing, and how all are sent away. */
export interface OpenStreams {
  /** Throws if there are too many. The answer forgets the stream, when its client has left or was ended. */
  keep(kind: ListenerKind & ("sse" | "ws"), stream: OpenStream): (reason?: EndReason) => void;
  /** A key was revoked: whose, is looked up. */
  lookAtKeys(): void;
  /** Ends all of them, spread over a second so that they don't all come to another process at once. */
  endAll(): Promise<void>;
  stop(): void;
}

export interface OpenStreamsDeps extends Pick<Deps, "db" | "log" | "now"> {
  listeners: Pick<Listeners, "open">;
  observe?: { closed?(reason: EndReason | "left"): void };
  /** For tests, whose seconds are shorter. */
  secondMs?: number;
}

const beatSeconds = { sse: 15, ws: 30 };
/**
 * A client that takes less than this in so many seconds, while more lies here for it, is ended as slow. It has lost nothing, and goes
 * on from its position when it reconnects.
 */
const slow = { bytes: 64 << 10, seconds: 60 };
const quietSeconds = 5;
/** The signal that a key is revoked may be lost. */
const keySeconds = 20;

export function openStreams({ db, log, now, listeners, observe = {}, secondMs = 1_000 }: OpenStreamsDeps): OpenStreams {
  const open = new Set<Kept>();
  let seconds = 0;
  let emptySince: number | undefined;
  const keyLooks = paced(secondMs, () => void endRevoked());
  const everySecond = setInterval(tick, secondMs);

  function tick(): void {
    seconds += 1;
    if (open.size === 0) collectOnceQuiet();
    else emptySince = undefined;
    const at = now();
    for (const kept of open) {
      const { stream } = kept;
      if (stream.caller.token !== undefined && stream.caller.token.expiresAt <= at) end(kept, "expired");
      else if (isSlow(kept)) end(kept, "slow");
      else if (stream.unsentBytes() === 0 && (seconds - kept.since) % beatSeconds[kept.kind] === 0) stream.beat();
    }
    if (seconds % keySeconds === 0) keyLooks.ask();
  }

  /** Gives back what streams took, some seconds after the last of them has gone. */
  function collectOnceQuiet(): void {
    emptySince ??= seconds;
    if (seconds - emptySince === quietSeconds) collectPiledUp(0);
  }

  function isSlow({ stream, measured }: Kept): boolean {
    const takenBytes = stream.takenBytes();
    if (stream.unsentBytes() === 0 || takenBytes - measured.takenBytes >= slow.bytes) {
      measured.second = seconds;
      measured.takenBytes = takenBytes;
    }
    return seconds - measured.second >= slow.seconds;
  }

  async function endRevoked(): Promise<void> {
    const kept = [...open];
    const keyIds = new Set(kept.map(({ stream }) => stream.caller.keyId));
    if (keyIds.size === 0) return;
    try {
      const living = new Set(await listLivingKeys(db.api, [...keyIds]));
      for (const each of kept) if (!living.has(each.stream.caller.keyId)) end(each, "unauthorized");
    } catch {
      log.debug("the keys of streams were not looked at");
    }
  }

  function end(kept: Kept, reason: EndReason): void {
    if (!open.has(kept)) return;
    kept.reason = reason;
    kept.stream.end(reason);
  }

  return {
    keep(kind, stream) {
      const leave = listeners.open(kind, stream.caller.id);
      const kept: Kept = {
        kind,
        stream,
        since: seconds,
        measured: { second: seconds, takenBytes: 0 },
        reason: undefined,
      };
      open.add(kept);
      // It may have been let in by what was remembered of its key.
      keyLooks.ask();
      return (reason = kept.reason) => {
        if (!open.delete(kept)) return;
        leave();
        observe.closed?.(reason ?? "left");
      };
    },
    lookAtKeys: keyLooks.ask,
    async endAll() {
      const all = [...open];
      await Promise.all(
        all.map(async (kept, index) => {
          await new Promise((resolve) => setTimeout(resolve, (index / all.length) * secondMs));
          end(kept, "shutting_down");
        }),
      );
    },
    stop() {
      clearInterval(everySecond);
      keyLooks.stop();
      for (const kept of [...open]) end(kept, "shutting_down");
    },
  };
}

interface Kept {
  kind: "sse" | "ws";
  stream: OpenStream;
  /** In seconds of this process, so that not all are spoken to in the same one. */
  since: number;
  /** When it last had taken all, or 64 KiB more than before, and what it had taken by then. */
  measured: { second: number; takenBytes: number };
  reason: EndReason | undefined;
}
