import type { Deps } from "../../flows/deps.ts";
import { isOutboxKind, type OutboxKind } from "../../store/outbox/items.ts";
import { outboxChannel, tellOutboxChannel } from "../../store/outbox/outbox.ts";

/** Wakes the workers of the other processes on the same database. What it says may be lost: they look for themselves each second. */
export interface Notifier {
  tell(kind: OutboxKind): void;
  close(): Promise<void>;
}

/** A flood of mail is one wake-up for each of these. */
const everyMs = 75;

/**
 * Told outside any transaction: NOTIFY takes a lock over the whole database until its transaction has committed, so that
 * commits would go one by one.
 */
export async function notifier(
  { db, log, randomBytes }: Pick<Deps, "db" | "log" | "randomBytes">,
  onWork: (kind: OutboxKind) => void,
): Promise<Notifier> {
  // The embedded database has no other process.
  if (db.engine === "embedded") return { tell: () => undefined, close: () => Promise.resolve() };
  const ourselves = randomBytes(8).toHex();
  const pausing = new Map<OutboxKind, { timer: ReturnType<typeof setTimeout>; again: boolean }>();

  const stopListening = await db.listen(outboxChannel, (payload) => {
    const [kind, sender] = payload.split(" ");
    // A newer process may tell of what this one knows nothing of.
    if (sender !== ourselves && isOutboxKind(kind)) onWork(kind);
  });

  function tell(kind: OutboxKind): void {
    const pause = pausing.get(kind);
    if (pause !== undefined) {
      pause.again = true;
      return;
    }
    const timer = setTimeout(() => {
      const again = pausing.get(kind)?.again;
      pausing.delete(kind);
      if (again) tell(kind);
    }, everyMs);
    pausing.set(kind, { timer, again: false });
    tellOutboxChannel(db.work, `${kind} ${ourselves}`).catch((err: unknown) =>
      log.debug({ err }, "other processes were not woken"),
    );
  }

  return {
    tell,
    async close() {
      for (const { timer } of pausing.values()) clearTimeout(timer);
      await stopListening();
    },
  };
}
