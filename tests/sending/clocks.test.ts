import { describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../src/database/db.ts";
import { enginesHere } from "../support/engines.ts";
import { scriptedSmtp } from "../support/scripted-smtp.ts";
import { newInbox, send, tally } from "../support/sends.ts";
import { until, untilAnswered } from "../support/until.ts";
import type { World } from "../support/world.ts";
import { worldsOn } from "../support/world-on.ts";

const minute = 60_000;

describe.skipIf(!enginesHere().includes("postgres"))("two processes, one on a machine with a wrong clock,", () => {
  const startWorld = worldsOn("postgres");

  test("relay each mail once, even with a slow relay", async () => {
    // Longer than the interval at which the other process looks for expired claims.
    const late = { packets: [...Array<string>(900).fill(""), "250 2.0.0 Ok\r\n"] };
    await using relay = await closing(scriptedSmtp({ answer: (line) => (line === "." ? late : undefined) }));
    const env = {
      OUTBOUND: `smtp://127.0.0.1:${relay.port}?tls=off`,
      SENDS_PER_MINUTE: "0",
      COLD_RECIPIENT_DAILY: "0",
    };
    await using right = await startWorld({ env, machineAheadMs: 0 });
    await using ahead = await right.another({ machineAheadMs: 2 * minute });
    const processes = [right, ahead];
    const inboxes = await Promise.all(times(20, () => newInbox(right)));
    const answers = await Promise.all(inboxes.map((inbox, index) => send(at(processes, index), inbox)));
    expect(tally(answers)).toEqual({ "200": 20 });
    await until(() => relay.mails.length >= 20);
    await allSent(right);
    const ids = relay.mails.map(({ raw }) => /^Message-ID: <(\S+)>/im.exec(raw.toString())?.[1]);
    expect([ids.length, new Set(ids).size]).toEqual([20, 20]);
    const lost = processes.flatMap(({ log }) => log.filter(({ msg }) => String(msg).startsWith("claim was lost")));
    expect(lost).toEqual([]);
  }, 60_000);

  test("count the sends of a minute and of a day exactly, by the clock of the database", async () => {
    const env = { SENDS_PER_MINUTE: "10", SENDS_PER_DAY: "12", COLD_RECIPIENT_DAILY: "0" };
    await using right = await startWorld({ env, machineAheadMs: 0 });
    await using ahead = await right.another({ machineAheadMs: 24 * 60 * minute });
    const inbox = await newInbox(right);
    const answers = await Promise.all(times(30, (index) => send(at([right, ahead], index), inbox)));
    expect(tally(answers)).toEqual({ "200": 10, "429 rate_limit_exceeded": 20 });
    const [row] = await query(
      right.service.deps.db.api,
      sql`select sent_on between current_date - 1 and current_date as "isToday", sent_count as count,
            last_message_at < clock_timestamp() + interval '1 second' as "isNow" from inboxes where id = ${inbox}`,
    );
    expect(row).toEqual({ isToday: true, count: 10, isNow: true });
  }, 60_000);

  async function allSent({ service }: World): Promise<void> {
    const pending = sql`select from messages where status = 'pending' limit 1`;
    await untilAnswered(async () => ((await query(service.deps.db.work, pending)).length === 0 ? true : undefined));
  }
});

async function closing<Server extends { close(): Promise<void> }>(starting: Promise<Server>) {
  const server = await starting;
  return { ...server, [Symbol.asyncDispose]: () => server.close() };
}

function at(processes: readonly World[], index: number): World {
  const process = processes[index % processes.length];
  if (process === undefined) throw new Error("There is no process");
  return process;
}

function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}
