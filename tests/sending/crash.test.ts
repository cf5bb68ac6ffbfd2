import { describe, expect, test } from "bun:test";
import { enginesHere } from "../support/engines.ts";
import type { RunningInboxd } from "../support/inboxd.ts";
import { kill, livesOn, newInboxOf } from "../support/lives.ts";
import type { ReceivedMail, Script } from "../support/scripted-smtp.ts";
import { tally } from "../support/tally.ts";
import { untilAnswered } from "../support/until.ts";
import type { World } from "../support/world.ts";

const rounds = Number(process.env.KILL_ROUNDS ?? (process.env.TEST_DATABASE_URL ? 8 : 4));
const apiKey = "key-of-the-first-account-in-tests";

describe.each(enginesHere())("kill -9 during a send (%s)", (engine) => {
  const lives = livesOn(engine);

  test("before the commit: nothing was sent, and the same key sends the mail", async () => {
    await using life = await lives();
    const relay = await life.relay();
    const process = await life.start(relay);
    const inboxId = await newInboxOf(process);
    const sending = ask(process, inboxId, "before-commit");
    // At a random point between the request and the commit.
    await Promise.race([sending.answered, Bun.sleep(Math.random() * 6)]);
    await kill(process);
    const answer = await sending.answered;

    const world = await life.recover();
    const { status, body, headers } = await again(world, inboxId, "before-commit");
    expect([status, body.status]).toEqual([200, "sent"]);
    if (answer !== undefined) expect(headers.get("idempotent-replayed")).toBe("true");
    expectOnce(life.mails(), body.messageId);
  }, 60_000);

  test("after the commit, before the claim: the mail is sent once", async () => {
    await using life = await lives();
    const relay = await life.relay({ greeting: "silence" });
    const process = await life.start(relay);
    const inboxId = await newInboxOf(process);
    // All connections to the relay are busy, so the last mails stay in the outbox.
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) => ask(process, inboxId, `in-line-${index}`, true).answered),
    );
    await relay.openIs(1);
    await kill(process);

    const world = await life.recover();
    await world.settled();
    for (const [index, answer] of answers.entries()) {
      const { body } = await again(world, inboxId, `in-line-${index}`);
      expect(body).toMatchObject({ messageId: answer?.messageId, threadId: answer?.threadId, status: "sent" });
      expectOnce(life.mails(), body.messageId);
    }
    expect(life.mails()).toHaveLength(40);
  }, 60_000);

  test.skipIf(engine === "postgres")(
    "the next process on the directory takes over claimed mail at once",
    async () => {
      await using life = await lives();
      const silent = await life.relay({ answer: (command) => (command === "." ? "silence" : undefined) });
      const first = await life.start(silent);
      const inboxId = await newInboxOf(first);
      await ask(first, inboxId, "in-hand", true).answered;
      await silent.seen(".");
      // After the first one, because mail of one inbox to one domain is sent one at a time.
      await ask(first, inboxId, "behind-it", true).answered;
      await kill(first);

      const relay = await life.relay();
      const startedMs = performance.now();
      await life.start(relay);
      await untilAnswered(async () => (relay.mails.length === 2 ? true : undefined));
      expect(relay.mails.map(({ raw }) => subjectOf(raw))).toEqual(["About in-hand", "About behind-it"]);
      // Far less than the minute of a lease.
      expect(performance.now() - startedMs).toBeLessThan(20_000);
    },
    90_000,
  );

  const points: [what: string, script: Script, seen: string, times: number][] = [
    ["after the claim, before the relay says a word", { greeting: "silence" }, "", 1],
    ["before the final dot", { answer: (command) => (command === "DATA" ? "silence" : undefined) }, "DATA", 1],
    ["after the final dot, unanswered", { answer: (command) => (command === "." ? "silence" : undefined) }, ".", 2],
  ];
  test.each(points)(
    "%s",
    async (_, script, seen, times) => {
      await using life = await lives();
      const relay = await life.relay(script);
      const process = await life.start(relay);
      const inboxId = await newInboxOf(process);
      const sending = ask(process, inboxId, "half-way");
      await (seen === "" ? relay.openIs(1) : relay.seen(seen));
      await kill(process);
      expect(await sending.answered).toBeUndefined();

      const world = await life.recover();
      await world.settled();
      const { body, headers } = await again(world, inboxId, "half-way");
      expect(body.status).toBe("sent");
      expect(headers.get("idempotent-replayed")).toBe("true");
      const copies = life.mails().filter(({ raw }) => idOf(raw) === `${body.messageId}@inbox.localhost`);
      expect(copies).toHaveLength(times);
      expect(new Set(copies.map(({ raw }) => raw.toString())).size).toBe(1);
      expect(life.mails()).toHaveLength(times);
    },
    60_000,
  );
});

describe.each(enginesHere())(`kill -9 ${rounds} times under load (%s)`, (engine) => {
  const lives = livesOn(engine);

  test("each key is one message, which is `sent`, and sent again only if the reply of the relay was lost", async () => {
    await using life = await lives();
    // A relay that sometimes does not reply.
    let dots = 0;
    const withheld = new Map<string, number>();
    const relay = await life.relay({
      answer: (command) => {
        if (command !== ".") return undefined;
        dots += 1;
        if (dots % 7 > 0) return undefined;
        const id = idOf(relay.mails.at(-1)?.raw ?? Buffer.alloc(0));
        withheld.set(id, (withheld.get(id) ?? 0) + 1);
        return "silence";
      },
    });
    const answers = new Map<string, Set<string>>();
    const answered = tally();
    let process = await life.start(relay);
    const inboxIds = await Promise.all([1, 2, 3].map(() => newInboxOf(process)));
    let key = 0;
    let over = false;
    let restarting: Promise<unknown> = Promise.resolve();

    /** Sends continuously, and repeats requests without a response with the same key. */
    async function caller(): Promise<void> {
      while (!over) {
        key += 1;
        const mine = key;
        const name = `load-${mine}`;
        answers.set(name, new Set());
        for (;;) {
          const answer = await ask(process, inboxIds[mine % 3] ?? "", name, true).answered;
          if (answer !== undefined) {
            answers.get(name)?.add(answer.messageId);
            answered.add();
            break;
          }
          if (over) break;
          await restarting;
        }
      }
    }

    const callers = Array.from({ length: 8 }, caller);
    for (let round = 0; round < rounds; round += 1) {
      await answered.more(1 + Math.floor(Math.random() * 25));
      const restarted = Promise.withResolvers<void>();
      restarting = restarted.promise;
      await kill(process);
      process = await life.start(relay);
      restarted.resolve();
    }
    over = true;
    await Promise.all(callers);
    await kill(process);

    const world = await life.recover();
    await world.settled();
    const messageIds = new Set<string>();
    for (const [name, seen] of answers) {
      const mine = Number(name.slice("load-".length));
      const { status, body } = await again(world, inboxIds[mine % 3] ?? "", name);
      expect([status, body.status]).toEqual([200, "sent"]);
      // I4: all earlier responses named the same message.
      expect([...seen, body.messageId].every((id) => id === body.messageId)).toBe(true);
      messageIds.add(body.messageId);
    }
    expect(messageIds.size).toBe(answers.size);

    // I4 and I5: the relay got each message with the same bytes each time, and no other.
    const copies = Map.groupBy(life.mails(), ({ raw }) => idOf(raw));
    expect([...copies.keys()].sort()).toEqual([...messageIds].map((id) => `${id}@inbox.localhost`).sort());
    let repeated = 0;
    for (const [id, mails] of copies) {
      expect(new Set(mails.map(({ raw }) => raw.toString())).size).toBe(1);
      // A reply in transit when the process died also counts as lost.
      repeated += Math.max(0, mails.length - 1 - (withheld.get(id) ?? 0));
    }
    // Each of ten connections may have had one at a kill, but not half of them at every kill.
    expect(repeated).toBeLessThanOrEqual(rounds * 5);
    console.log(`${engine}: ${rounds} kills, ${answers.size} sends, ${life.mails().length} mails at the relay`);
  }, 600_000);
});

interface Sent {
  messageId: string;
  threadId: string;
}

/** Requests a send; undefined if there was no response. */
function ask(
  process: RunningInboxd,
  inboxId: string,
  key: string,
  atOnce = false,
): { answered: Promise<Sent | undefined> } {
  const answered = fetch(new URL(`/v1/inboxes/${inboxId}/send`, process.api), {
    method: "POST",
    headers: {
      authorization: `Bearer ${apiKey}`,
      "content-type": "application/json",
      "idempotency-key": key,
      ...(atOnce && { prefer: "respond-async" }),
    },
    body: JSON.stringify(bodyOf(key)),
  })
    .then(async (response) => (response.status === 200 ? ((await response.json()) as Sent) : undefined))
    .catch(() => undefined);
  return { answered };
}

function again(world: World, inboxId: string, key: string) {
  return world.api(`/v1/inboxes/${inboxId}/send`, {
    method: "POST",
    headers: { "idempotency-key": key },
    body: bodyOf(key),
  });
}

function bodyOf(key: string) {
  return { to: "jane@example.com", subject: `About ${key}`, body: "It is on its way" };
}

function expectOnce(mails: readonly ReceivedMail[], messageId: string): void {
  expect(mails.filter(({ raw }) => idOf(raw) === `${messageId}@inbox.localhost`)).toHaveLength(1);
}

function subjectOf(raw: Uint8Array): string {
  return /^Subject: (.*)$/im.exec(Buffer.from(raw).toString("latin1"))?.[1]?.trim() ?? "";
}

function idOf(raw: Uint8Array): string {
  return /^Message-ID: <([^>]*)>/im.exec(Buffer.from(raw).toString("latin1"))?.[1] ?? "";
}
