import { paced } from "../../primitives/paced.ts";
import { listLivingKeys } from "../../store/account/accounts.ts";
import type { KeyHolder } from "../account/authenticate.ts";
import type { Deps } from "../deps.ts";
import type { ListenerKind, Listeners } from "../listeners.ts";

/** Why a stream is ended; who is ended by none of these has left. */
export type EndReason = "shutting_down" | "unauthorized" | "slow" | "expired";

/** A client that listens, whatever way it is spoken to. */
export interface OpenStream {
  caller: Pick<KeyHolder, "id" | "keyId" | "token">;
  /** Whether it has yet to take what it was sent. */
  isStalled(): boolean;
  /** Holds nothing while its client takes nothing. */
  rest(): void;
  /** Says that we are there, and looks whether the client is. */
  beat(): void;
  end(reason: EndReason): void;
}

/** All who listen at this process: who may, who still may, who takes nothing, and how all are sent away. */
export interface OpenStreams {
  /** Throws where there are too many. What it gives forgets the stream, whose client has left or was ended. */
  keep(kind: ListenerKind & ("sse" | "ws"), stream: OpenStream): () => void;
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
/** Who takes nothing for so long is sent away: it has lost nothing, and goes on from its place. */
const slowSeconds = 60;
/** The signal that a key is revoked may be lost. */
const keySeconds = 20;

export function openStreams({ db, log, now, listeners, observe = {}, secondMs = 1_000 }: OpenStreamsDeps): OpenStreams {
  const open = new Set<Kept>();
  let seconds = 0;
  const keyLooks = paced(secondMs, () => void endRevoked());
  const everySecond = setInterval(tick, secondMs);

  function tick(): void {
    seconds += 1;
    if (open.size === 0) return;
    const at = now();
    for (const kept of open) {
      const { stream } = kept;
      if (stream.caller.token !== undefined && stream.caller.token.expiresAt <= at) end(kept, "expired");
      else if (!stream.isStalled()) {
        kept.stalledSeconds = 0;
        if ((seconds - kept.since) % beatSeconds[kept.kind] === 0) stream.beat();
      } else {
        kept.stalledSeconds += 1;
        stream.rest();
        if (kept.stalledSeconds >= slowSeconds) end(kept, "slow");
      }
    }
    if (seconds % keySeconds === 0) keyLooks.ask();
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
      const kept: Kept = { kind, stream, since: seconds, stalledSeconds: 0, reason: undefined };
      open.add(kept);
      // It may have been let in by what was remembered of its key.
      keyLooks.ask();
      return () => {
        if (!open.delete(kept)) return;
        leave();
        observe.closed?.(kept.reason ?? "left");
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
  stalledSeconds: number;
  reason: EndReason | undefined;
}
