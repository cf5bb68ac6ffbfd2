import type { Caller } from "../../domain/access/access.ts";
import { collectPiledUp } from "../collect-garbage.ts";
import type { ListenerKind, Listeners } from "../listeners.ts";
import type { OpenCalls } from "../open-calls.ts";

/** The reason why the service ends a stream. Without a reason the client has left. */
export type EndReason = "shutting_down" | "unauthorized" | "slow" | "expired";

/** A client of server-sent events or of a WebSocket. */
export interface OpenStream {
  caller: Pick<Caller, "id" | "keyId" | "expiresAt">;
  /** The address of the client; null if the request came by no network. */
  ip: string | null;
  /** Bytes in this process's memory that are not sent yet. Bytes that the kernel has taken do not count. */
  unsentBytes(): number;
  /** Bytes that the client has taken since it connected. */
  takenBytes(): number;
  /** Sends a heartbeat, and checks that the client is there. */
  beat(): void;
  end(reason: EndReason): void;
}

/** All open streams of this process. It counts them, ends those that are slow or may not go on, and ends all at a shutdown. */
export interface OpenStreams {
  /** Adds a stream, or throws if there are too many. Returns the function to call when the stream is over. */
  keep(kind: ListenerKind & ("sse" | "ws"), stream: OpenStream): (reason?: EndReason) => void;
  /** Ends all streams, spread over a second, so that not all clients connect to another process at once. */
  endAll(): Promise<void>;
  stop(): void;
}

export interface OpenStreamsDeps {
  listeners: Pick<Listeners, "open">;
  calls: Pick<OpenCalls, "add" | "checkKeys">;
  observe?: { closed?(reason: EndReason | "left"): void };
  /** The length of a second. It is shorter in tests. */
  secondMs?: number;
}

const beatSeconds = { sse: 15, ws: 30 };
/**
 * A stream ends as `slow` if its client takes less than 64 KiB in 60 seconds, although bytes are unsent all the time. The client loses no
 * event, because it continues from its position when it reconnects.
 */
const slow = { bytes: 64 << 10, seconds: 60 };
const quietSeconds = 5;

export function openStreams({ listeners, calls, observe = {}, secondMs = 1_000 }: OpenStreamsDeps): OpenStreams {
  const open = new Set<Kept>();
  let seconds = 0;
  let emptySince: number | undefined;
  const everySecond = setInterval(tick, secondMs);

  function tick(): void {
    seconds += 1;
    if (open.size === 0) collectOnceQuiet();
    else emptySince = undefined;
    for (const kept of open) {
      const { stream } = kept;
      if (isSlow(kept)) end(kept, "slow");
      else if (stream.unsentBytes() === 0 && (seconds - kept.since) % beatSeconds[kept.kind] === 0) stream.beat();
    }
  }

  /** Collects garbage once, 5 seconds after the last stream has ended. Called each second without streams. */
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
      const { caller, ip } = stream;
      const uncheck = calls.add({ caller, ip, forbid: (reason) => end(kept, reason) });
      // This key may have been accepted from memory after it was revoked.
      calls.checkKeys();
      return (reason = kept.reason) => {
        if (!open.delete(kept)) return;
        uncheck();
        leave();
        observe.closed?.(reason ?? "left");
      };
    },
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
      for (const kept of [...open]) end(kept, "shutting_down");
    },
  };
}

interface Kept {
  kind: "sse" | "ws";
  stream: OpenStream;
  /** The second in which the stream began. Its heartbeats count from then, so that those of many streams are spread. */
  since: number;
  /**
   * The last second in which the stream was not slow: no bytes were unsent, or the client had taken another 64 KiB. And the bytes that it
   * had taken by then.
   */
  measured: { second: number; takenBytes: number };
  reason: EndReason | undefined;
}
