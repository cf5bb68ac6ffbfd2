import type { Deps } from "../../flows/deps.ts";
import { type Paced, paced } from "../../primitives/paced.ts";
import { outboxChannel, tellingPauseMs, wakeChannel } from "../../store/channels.ts";
import { isOutboxKind, type OutboxKind } from "../../store/outbox/items.ts";

/** Wakes the workers of the other processes on the same database. What it says may be lost: they look for themselves each second. */
export interface Notifier {
  tell(kind: OutboxKind): void;
  close(): Promise<void>;
}

export async function notifier(
  { db, log, randomBytes }: Pick<Deps, "db" | "log" | "randomBytes">,
  onWork: (kind: OutboxKind) => void,
): Promise<Notifier> {
  // The embedded database has no other process.
  if (db.engine === "embedded") return { tell: () => undefined, close: () => Promise.resolve() };
  const ourselves = randomBytes(8).toHex();
  const byKind = new Map<OutboxKind, Paced>();

  const stopListening = await db.listen(outboxChannel, (payload) => {
    const [kind, sender] = payload.split(" ");
    // A newer process may tell of what this one knows nothing of.
    if (sender !== ourselves && isOutboxKind(kind)) onWork(kind);
  });

  function tellOthers(kind: OutboxKind): void {
    wakeChannel(db.work, outboxChannel, `${kind} ${ourselves}`).catch((err: unknown) =>
      log.debug({ err }, "other processes were not woken"),
    );
  }

  return {
    tell(kind) {
      let telling = byKind.get(kind);
      if (telling === undefined) {
        telling = paced(tellingPauseMs, () => tellOthers(kind));
        byKind.set(kind, telling);
      }
      telling.ask();
    },
    async close() {
      for (const telling of byKind.values()) telling.stop();
      await stopListening();
    },
  };
}
