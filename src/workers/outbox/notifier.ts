import type { Deps } from "../../flows/deps.ts";
import { type Paced, paced } from "../../primitives/paced.ts";
import { notificationPauseMs, outboxChannel, wakeChannel } from "../../store/channels.ts";
import { isOutboxKind, type OutboxKind } from "../../store/outbox/items.ts";

/** Wakes the workers of the other processes on the database. A message may be lost: each process also looks every second. */
export interface Notifier {
  notify(kind: OutboxKind): void;
  close(): Promise<void>;
}

export async function notifier(
  { db, log, randomBytes }: Pick<Deps, "db" | "log" | "randomBytes">,
  onWork: (kind: OutboxKind) => void,
): Promise<Notifier> {
  // No other process can use an embedded database.
  if (db.engine === "embedded") return { notify: () => undefined, close: () => Promise.resolve() };
  const ourselves = randomBytes(8).toHex();
  const byKind = new Map<OutboxKind, Paced>();

  const stopListening = await db.listen(outboxChannel, (payload) => {
    const [kind, sender] = payload.split(" ");
    // A newer process may send a kind that this one does not know.
    if (sender !== ourselves && isOutboxKind(kind)) onWork(kind);
  });

  function notifyOthers(kind: OutboxKind): void {
    wakeChannel(db.work, outboxChannel, `${kind} ${ourselves}`).catch((err: unknown) =>
      log.debug({ err }, "other processes were not woken"),
    );
  }

  return {
    notify(kind) {
      let pacing = byKind.get(kind);
      if (pacing === undefined) {
        pacing = paced(notificationPauseMs, () => notifyOthers(kind));
        byKind.set(kind, pacing);
      }
      pacing.ask();
    },
    async close() {
      for (const pacing of byKind.values()) pacing.stop();
      await stopListening();
    },
  };
}
