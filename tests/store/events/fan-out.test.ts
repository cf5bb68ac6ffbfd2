import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { type Db, query } from "../../../src/database/db.ts";
import { insertEvents, type NewEvent } from "../../../src/store/events/fan-out.ts";
import { migrate } from "../../../src/store/migrate.ts";
import { type EngineUnderTest, enginesHere, openEngine } from "../../support/engines.ts";

const at = new Date("2026-03-21T10:05:00.000Z");

/** An endpoint of the account `acc`, in the words of its row; `default` stands in the other table. */
type Subscription = Partial<Record<"event_types" | "inbox_ids" | "include", string>> & {
  skip_automated?: boolean;
  disabled_at?: Date;
};

for (const engine of enginesHere()) {
  describe(`What the writer of an event promises (${engine})`, () => {
    let under: EngineUnderTest;
    let db: Db;
    beforeAll(async () => {
      under = await openEngine(engine);
      await migrate(under.db);
      db = under.db.api;
      await query(
        db,
        sql`insert into accounts (id, name, plan, created_at) select id, id, 'free', ${at} from (values ('acc'), ('stranger')) a (id)`,
      );
    });
    afterAll(() => under?.remove());
    beforeEach(async () => {
      for (const table of ["outbox", "events", "webhooks", "endpoints"])
        await query(db, sql`delete from ${sql.identifier(table)}`);
    });

    async function subscribe(id: string, subscription: Subscription = {}, accountId = "acc"): Promise<void> {
      const {
        event_types = "{message.received}",
        inbox_ids = null,
        include = "{}",
        skip_automated = false,
      } = subscription;
      const disabledAt = subscription.disabled_at ?? null;
      const shared = sql`${accountId}, 'https://a.example', 'whsec_', ${at}, ${event_types}::text[], ${inbox_ids}::text[],
        ${include}::text[], ${skip_automated}::boolean, ${disabledAt}::timestamptz`;
      const columns = sql`account_id, url, secret, created_at, event_types, inbox_ids, include, skip_automated, disabled_at`;
      if (id === "default") await query(db, sql`insert into webhooks (${columns}) values (${shared})`);
      else await query(db, sql`insert into endpoints (id, ${columns}) values (${id}, ${shared})`);
    }

    async function tell(event: Partial<NewEvent> = {}): Promise<string[]> {
      return insertEvents(db, [
        {
          ...{ id: "evt_1", accountId: "acc", inboxId: "inb_1", threadId: null, messageId: null },
          ...{ type: "message.received", occurredAt: at, data: null, ...event },
        },
      ]);
    }

    function promises() {
      return query<Record<string, unknown>>(
        db,
        sql`select subject_id as id, kind, lane, inbox_id as inbox, event_id as event, endpoint_id as endpoint, state
            from outbox order by subject_id`,
      );
    }

    const all = "{*}";
    const rows: [string, string, Subscription, Partial<NewEvent>, string | undefined][] = [
      ["a default endpoint as the first hour knew it", "default", {}, {}, "webhook"],
      ["a default endpoint that asks for more of a message", "default", { include: "{html}" }, {}, "endpoint"],
      ["a default endpoint that wants all types", "default", { event_types: all }, {}, "endpoint"],
      ["a default endpoint of some inboxes", "default", { inbox_ids: "{inb_1}" }, {}, "webhook"],
      ["another endpoint", "whk_1", {}, {}, "endpoint"],
      ["what is disabled", "whk_1", { disabled_at: at }, {}, undefined],
      ["a type that it does not want", "whk_1", {}, { type: "message.sent" }, undefined],
      [
        "a type that it names",
        "whk_1",
        { event_types: "{message.failed,message.sent}" },
        { type: "message.sent" },
        "endpoint",
      ],
      ["all types", "whk_1", { event_types: all }, { type: "inbox.created" }, "endpoint"],
      ["an inbox that it names", "whk_1", { inbox_ids: "{inb_2,inb_1}" }, {}, "endpoint"],
      ["an inbox that it does not name", "whk_1", { inbox_ids: "{inb_2}" }, {}, undefined],
      [
        "what belongs to no inbox, by who named some",
        "whk_1",
        { event_types: all, inbox_ids: "{inb_1}" },
        { type: "webhook.disabled", inboxId: null },
        undefined,
      ],
      ["what no person wrote is skipped in mail alone", "whk_1", { skip_automated: true }, {}, "endpoint"],
    ];
    test.each(rows)("%s", async (_, id, subscription, event, kind) => {
      await subscribe(id, subscription);
      expect(await tell(event)).toEqual(kind === undefined ? [] : ([kind] as string[]));
      expect((await promises()).map((promise) => promise.kind)).toEqual(kind === undefined ? [] : [kind]);
    });

    test("each endpoint has its own promise, its own lane and the event's own id in common", async () => {
      await subscribe("default");
      await subscribe("whk_1");
      await subscribe("whk_2", { event_types: all });
      await subscribe("whk_3", {}, "stranger");
      expect((await tell()).sort()).toEqual(["endpoint", "webhook"]);
      const common = { inbox: "inb_1", state: "ready" };
      expect(await promises()).toEqual([
        { id: "evt_1", kind: "webhook", lane: "acc", event: null, endpoint: null, ...common },
        { id: "evt_1.whk_1", kind: "endpoint", lane: "whk_1", event: "evt_1", endpoint: "whk_1", ...common },
        { id: "evt_1.whk_2", kind: "endpoint", lane: "whk_2", event: "evt_1", endpoint: "whk_2", ...common },
      ]);
    });

    test("what belongs to no inbox stands in line under its account", async () => {
      await subscribe("whk_1", { event_types: all });
      await tell({ type: "webhook.disabled", inboxId: null });
      expect(await promises()).toMatchObject([{ id: "evt_1.whk_1", inbox: "acc" }]);
    });
  });
}
