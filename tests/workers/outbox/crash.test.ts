import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { settable } from "../../support/clock.ts";
import { emptyDatabase } from "../../support/database.ts";
import { type EngineName, enginesHere } from "../../support/engines.ts";
import { type RunningInboxd, startInboxd } from "../../support/inboxd.ts";
import { answer, type Behaviour, hang, type Receiver, startReceiver } from "../../support/receiver.ts";
import { tally } from "../../support/tally.ts";
import { deliver, startWorld, type World } from "../../support/world.ts";

const rounds = Number(process.env.KILL_ROUNDS ?? 5);
const apiKey = "key-of-the-first-account-in-tests";

describe.each(enginesHere())("kill -9 and webhooks (%s)", (engine) => {
  const points: [what: string, behaviour: Behaviour][] = [
    ["while a delivery is out", hang],
    ["after its 200, maybe before that is written down", answer(200)],
  ];
  test.each(points)(
    "%s: the event comes again, with the next attempt, and the log has no gap",
    async (_, behaviour) => {
      await using life = await newLife(engine);
      life.receiver.behave(behaviour);
      const first = await life.start();
      const inbox = await newInbox(first);
      expect(await deliver(first.smtpPort, mailNumber(1), inbox.address)).toStartWith("250");
      await life.receiver.request(1);
      await kill(first);

      life.receiver.behave(answer(200));
      const world = await life.recover();
      const { body: log } = await world.api("/v1/events");
      expect(log.data).toHaveLength(1);
      const id = log.data[0].event_id;
      const attempts = await attemptsOnceOver(world, id);
      expect(attempts.map(({ attempt }) => attempt)).toEqual(attempts.map((_, index) => index + 1));
      expect(attempts.at(-1)).toMatchObject({ status: 200 });
      const seen = life.receiver.requests.map(({ body }) => JSON.parse(body));
      expect(seen.map(({ event_id }) => event_id)).toEqual(attempts.map(() => id));
      expect(seen.map(({ attempt }) => attempt)).toEqual(attempts.map(({ attempt }) => attempt));
    },
    60_000,
  );

  test(`${rounds} times under load: one event for each mail that was taken, delivered in the end, no gap in its log`, async () => {
    await using life = await newLife(engine);
    let arrived = 0;
    // A receiver that sometimes refuses and sometimes keeps its answer to itself.
    life.receiver.behave((socket, request) => {
      arrived += 1;
      const behaviour = arrived % 11 === 0 ? hang : answer(arrived % 7 === 0 ? 500 : 200);
      behaviour(socket, request);
    });
    let process = await life.start();
    const inboxes = [await newInbox(process), await newInbox(process), await newInbox(process)];
    const taken = new Set<string>();
    const acknowledged = tally();
    let number = 0;
    let over = false;
    let restarting: Promise<unknown> = Promise.resolve();

    async function sender(): Promise<void> {
      while (!over) {
        number += 1;
        const mine = number;
        const to = inboxes[mine % 3]?.address ?? "";
        for (;;) {
          const reply = await deliver(process.smtpPort, mailNumber(mine), to).catch(() => "");
          if (reply.startsWith("250")) {
            taken.add(`Mail ${mine}`);
            acknowledged.add();
            break;
          }
          if (over) break;
          await restarting;
          await Bun.sleep(5);
        }
      }
    }

    const senders = Array.from({ length: 4 }, sender);
    for (let round = 0; round < rounds; round += 1) {
      await acknowledged.more(1 + Math.floor(Math.random() * 12));
      const restarted = Promise.withResolvers<void>();
      restarting = restarted.promise;
      await kill(process);
      process = await life.start();
      restarted.resolve();
    }
    over = true;
    await Promise.all(senders);
    await kill(process);

    life.receiver.behave(answer(200));
    const world = await life.recover();
    const events = await allEvents(world);
    const subjects = events.map(({ message }) => message.subject);
    // I3: one event each. A mail whose 250 never arrived may be there too, once.
    expect(new Set(subjects).size).toBe(subjects.length);
    for (const subject of taken) expect(subjects).toContain(subject);

    let counted = 0;
    for (const { event_id: id } of events) {
      const attempts = await attemptsOnceOver(world, id);
      expect(attempts.map(({ attempt }) => attempt)).toEqual(attempts.map((_, index) => index + 1));
      expect(attempts.filter(({ status }) => status === 200)).toHaveLength(1);
      counted += attempts.length;
    }
    const requests = life.receiver.requests.map(({ body }) => JSON.parse(body));
    expect(new Set(requests.map(({ event_id }) => event_id))).toEqual(new Set(events.map(({ event_id }) => event_id)));
    // No attempt is made twice. An attempt that nobody saw is of a process that died between counting it and writing it out.
    expect(new Set(requests.map(({ event_id, attempt }) => `${event_id} ${attempt}`)).size).toBe(requests.length);
    expect(requests.length).toBeLessThanOrEqual(counted);
    console.log(`${engine}: ${rounds} kills, ${events.length} events, ${requests.length} of ${counted} attempts seen`);
  }, 600_000);
});

interface Life extends AsyncDisposable {
  receiver: Receiver;
  start(): Promise<RunningInboxd>;
  /** The service again after its process died, an hour later. */
  recover(): Promise<World>;
}

/** One database, directory and receiver, and the processes that live on them one after the other. */
async function newLife(engine: EngineName): Promise<Life> {
  const dataDir = mkdtempSync(join(tmpdir(), "ibx-life-"));
  const receiver = await startReceiver();
  const database = engine === "embedded" ? undefined : await emptyDatabase();
  const running = new Set<RunningInboxd>();
  let world: World | undefined;
  const env = { DATA_DIR: dataDir, API_KEY: apiKey, WEBHOOK_URL: receiver.url, LOG_LEVEL: "info" };
  return {
    receiver,
    async start() {
      const process = await startInboxd({ env: { ...env, ...(database && { DATABASE_URL: database.url }) } });
      running.add(process);
      return process;
    },
    async recover() {
      const clock = settable(new Date(Date.now() + 3_600_000).toISOString());
      world = await startWorld({ database: database ?? "embedded", env, clock });
      return world;
    },
    async [Symbol.asyncDispose]() {
      for (const process of running) await kill(process);
      await world?.[Symbol.asyncDispose]();
      await receiver.close();
      await database?.drop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

async function kill(process: RunningInboxd): Promise<void> {
  process.signal("SIGKILL");
  await process.exited;
}

async function newInbox(process: RunningInboxd): Promise<{ address: string }> {
  const response = await process.request("POST", "/v1/inboxes", {}, apiKey);
  return response.json() as Promise<{ address: string }>;
}

function mailNumber(number: number): string {
  return `From: jane@example.com\r\nMessage-ID: <${number}@example.com>\r\nSubject: Mail ${number}\r\n\r\nHello ${number}\r\n`;
}

interface Attempt {
  attempt: number;
  status: number | null;
}

/** The attempts at an event once one has been answered with 200; the clock goes on until then. */
async function attemptsOnceOver(world: World, id: string): Promise<Attempt[]> {
  for (;;) {
    const { body } = await world.api(`/v1/events/${id}/deliveries`);
    const attempts = body.data as Attempt[];
    if (attempts.some(({ status }) => status === 200)) return attempts;
    world.clock.pass(60_000);
    await Bun.sleep(20);
  }
}

async function allEvents(world: World): Promise<{ event_id: string; message: { subject: string } }[]> {
  const events: { event_id: string; message: { subject: string } }[] = [];
  for (let after = ""; ; ) {
    const { body } = await world.api(`/v1/events?limit=100${after}`);
    events.push(...body.data);
    if (!body.hasMore) return events;
    after = `&after=${body.data.at(-1).event_id}`;
  }
}
