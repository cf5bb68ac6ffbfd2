import { setTimeout as sleep } from "node:timers/promises";
import { connectPostgres, type PostgresOptions } from "./postgres.ts";

const retryMs = 250;
/** The interval at which a connection is checked, because a lost connection looks the same as one without notifications. */
const aliveCheckMs = 15_000;

/**
 * Listens on a channel over its own connection, and reconnects for ever. Notifications are lost while it is disconnected. So it calls
 * `onState(true)` after each connection, and the caller looks for missed work then.
 */
export async function listenPostgres(
  options: PostgresOptions,
  channel: string,
  onNotify: (payload: string) => void,
  onState: (connected: boolean) => void = () => undefined,
): Promise<() => Promise<void>> {
  const stop = new AbortController();
  const firstTry = Promise.withResolvers<void>();

  async function listenOnce(): Promise<void> {
    const lost = Promise.withResolvers<void>();
    const connection = connectPostgres(options, { onNotify, onClose: lost.resolve });
    const onStop = () => lost.resolve();
    stop.signal.addEventListener("abort", onStop);
    let listening = false;
    try {
      await connection.script(`listen "${channel.replaceAll('"', '""')}"`);
      listening = true;
      onState(true);
      firstTry.resolve();
      while (connection.isOpen && !stop.signal.aborted) {
        const next = await Promise.race([
          lost.promise,
          sleep(aliveCheckMs, "check", { signal: stop.signal, ref: false }),
        ]);
        if (next === "check") await connection.script("select 1");
      }
    } finally {
      stop.signal.removeEventListener("abort", onStop);
      if (listening) onState(false);
      await connection.close().catch(() => connection.sever());
    }
  }

  async function listenForEver(): Promise<void> {
    while (!stop.signal.aborted) {
      await listenOnce().catch(() => undefined);
      firstTry.resolve();
      await sleep(retryMs, undefined, { signal: stop.signal }).catch(() => undefined);
    }
  }

  const ended = listenForEver();
  await firstTry.promise;
  return async () => {
    stop.abort();
    await ended;
  };
}
