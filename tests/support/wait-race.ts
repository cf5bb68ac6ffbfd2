import type { outboxWorld } from "./outbox-world.ts";
import type { waitsOn } from "./waits.ts";

export interface WaitRace {
  /** The process that receives the mail. */
  world: Awaited<ReturnType<typeof outboxWorld>>;
  /** The process that waits. */
  waits: ReturnType<typeof waitsOn>;
  rounds: number;
  /** The number of parallel rounds, each with its own inbox. */
  atOnce?: number;
}

export interface RaceResult {
  /** The rounds in which the wait did not return the mail. */
  missed: string[];
  /** The time from the commit, or from the start of the wait if later, to the answer. */
  tookMs: number[];
}

/** In each round a mail is committed from 50 ms before to 50 ms after a wait for it begins. */
export async function raceOfWaits({ world, waits, rounds, atOnce = 20 }: WaitRace): Promise<RaceResult> {
  const result: RaceResult = { missed: [], tookMs: [] };
  const inboxes = await Promise.all(Array.from({ length: atOnce }, () => world.newInbox()));
  const beyondAll = 2 ** 30;

  async function round(inbox: (typeof inboxes)[number], number: number): Promise<void> {
    const { seen } = await waits.wait(inbox, { timeoutMs: 0, seen: beyondAll });
    const subject = `Round ${number}`;
    const mailLaterMs = ((number * 37) % 101) - 50;
    const mail = Bun.sleep(Math.max(0, mailLaterMs)).then(async () => {
      await world.receive(inbox, { subject });
      return performance.now();
    });
    const wait = Bun.sleep(Math.max(0, -mailLaterMs)).then(async () => {
      const begunMs = performance.now();
      const waited = await waits.wait(inbox, { seen, subject });
      return { waited, begunMs, endMs: performance.now() };
    });
    const [committedMs, { waited, begunMs, endMs }] = await Promise.all([mail, wait]);
    if (waited.end !== "found" || waited.message.subject !== subject) result.missed.push(subject);
    result.tookMs.push(endMs - Math.max(committedMs, begunMs));
  }

  for (let first = 0; first < rounds; first += atOnce) {
    await Promise.all(inboxes.map((inbox, index) => round(inbox, first + index)));
  }
  return result;
}
