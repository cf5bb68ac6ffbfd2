import { describe, expect, test } from "bun:test";
import { databaseApart } from "../support/database.ts";
import { enginesHere } from "../support/engines.ts";
import { fairly } from "../support/fair-time.ts";
import { lockInbox } from "../support/lock-inbox.ts";
import { mailOf } from "../support/mail.ts";
import { storedMessages } from "../support/stored.ts";
import { startWorld, type World, type WorldInbox } from "../support/world.ts";

describe.skipIf(!enginesHere().includes("postgres"))("an inbox whose row is locked", () => {
  test("delays and finally refuses its own mail, while the mail of other inboxes is not delayed", async () => {
    await using world = await startWorld({ database: await databaseApart() });
    const [held, ...others] = await Promise.all(Array.from({ length: 5 }, () => world.inbox()));
    if (held === undefined) throw new Error("Cannot test: there is no inbox");
    for (const inbox of [held, ...others]) await world.deliver(mailOf({ messageId: "first@x.example" }), inbox.address);

    const release = await lockInbox(world.service.deps.db.work, held.id);
    let isOver = false;
    const early = mailTo(world, held, "early").finally(() => {
      isOver = true;
    });
    // One mail is larger than a batch, and one is for another inbox as well.
    const large = world.deliver(
      mailOf({ messageId: "large@x.example", text: "0123456789\r\n".repeat(100_000) }),
      held.address,
    );
    const both = world.deliver(mailOf({ messageId: "both@x.example" }), [held.address, others[0]?.address ?? ""]);
    const late: Promise<string>[] = [];
    const took: number[] = [];
    const senders = others.map(async (inbox, sender) => {
      // The inbox is locked until all have ended, so a slow machine can go on for a percentile that says something.
      for (let number = 0; !isOver || number <= 25; number += 1) {
        const { result: reply, fairMs } = await fairly(() => mailTo(world, inbox, `${sender}.${number}`));
        expect(reply).toStartWith("250");
        took.push(fairMs);
        if (sender === 0 && number % 20 === 0 && late.length < 12) late.push(mailTo(world, held, `late.${number}`));
      }
    });
    expect(await early).toStartWith("451");
    await Promise.all(senders);
    expect(took.length).toBeGreaterThan(100);
    expect(took.toSorted((left, right) => left - right)[Math.floor(took.length * 0.99)]).toBeLessThan(1_000);

    await release();
    for (const reply of await Promise.all([...late, large, both])) expect(reply).toMatch(/^(250|451)/);
    expect(await mailTo(world, held, "last")).toStartWith("250");
    const taken = (await Promise.all(late)).filter((reply) => reply.startsWith("250")).length;
    const ids = (await storedMessages(world.service.deps.db.api, held.id)).map(({ rfcMessageId }) => rfcMessageId);
    expect(ids).not.toContain("early@x.example");
    expect(ids.filter((id) => id.startsWith("late"))).toHaveLength(taken);
    expect(ids.at(-1)).toBe("last@x.example");
  });

  test("gets the mail that has waited, once, as soon as the lock is released", async () => {
    await using world = await startWorld({ database: await databaseApart() });
    const inbox = await world.inbox();
    const release = await lockInbox(world.service.deps.db.work, inbox.id);
    const waiting = Array.from({ length: 10 }, (_, number) => mailTo(world, inbox, `waiting.${number}`));
    const large = world.deliver(
      mailOf({ messageId: "large@x.example", text: "0123456789\r\n".repeat(100_000) }),
      inbox.address,
    );
    expect(await mailTo(world, await world.inbox(), "other")).toStartWith("250");
    await release();
    for (const reply of await Promise.all([...waiting, large])) expect(reply).toStartWith("250");
    const stored = await storedMessages(world.service.deps.db.api, inbox.id);
    expect(stored.map(({ seq }) => seq)).toEqual(Array.from({ length: 11 }, (_, index) => index + 1));
  }, 30_000);
});

function mailTo(world: World, { address }: WorldInbox, name: string): Promise<string> {
  return world.deliver(mailOf({ messageId: `${name}@x.example` }), address);
}
