import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { migrate } from "../../src/store/migrate.ts";
import { type EngineUnderTest, enginesHere, openEngine } from "../support/engines.ts";
import { outboxWorld } from "../support/outbox-world.ts";

for (const engine of enginesHere()) {
  describe(`Mail on its way out, with the ${engine} database`, () => {
    let under: EngineUnderTest;
    beforeAll(async () => {
      under = await openEngine(engine);
      await migrate(under.db);
    });
    afterAll(() => under?.remove());

    test("is relayed once, and sent when the relay has said 250", async () => {
      const world = await outboxWorld(under.db);
      const workers = await world.start();
      const inbox = await world.newInbox();
      const id = await world.send(inbox, "jane@example.com");
      await workers.settled(id, 5000);
      expect(world.relay.mails.map(({ to }) => to)).toEqual(["jane@example.com"]);
      expect(await world.message(id)).toMatchObject({ status: "sent", providerMessageId: "Q1" });
      await world.stop();
      expect(world.log.filter(({ level }) => Number(level) > 30)).toEqual([]);
    });
  });
}
