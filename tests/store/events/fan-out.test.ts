import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { type Db, query } from "../../../src/database/db.ts";
import type { NewEvent } from "../../../src/domain/events/event-types.ts";
import { insertEvents } from "../../../src/store/events/fan-out.ts";
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

    const about = { id: "evt_1", accountId: "acc", inboxId: "inb_1", threadId: null, messageId: null, occurredAt: at };
    const received: NewEvent = { ...about, type: "message.received", data: null };
    const sent: NewEvent = {
      ...about,
      type: "message.sent",
      data: { messageId: "msg_1", status: "sent", providerMessageId: null },
    };
    const created: NewEvent = {
      ...about,
      type: "inbox.created",
      data: { address: "ada@inbox.localhost", externalId: null, createdAt: at.toISOString() },
    };
    const disabled: NewEvent = {
      ...about,
      inboxId: null,
      type: "webhook.disabled",
      data: { webhookId: "whk_2", url: "https://example.com", reason: "gone" },
    };

    async function tell(event: NewEvent = received): Promise<string[]> {
      return insertEvents(db, [event]);
    }

    function promises() {
      return query<Record<string, unknown>>(
        db,
        sql`select subject_id as id, kind, lane, inbox_id as inbox, event_id as event, endpoint_id as endpoint, state
            from outbox order by subject_id`,
      );
    }

    const all = "{*}";
    const rows: [string, string, Subscription, NewEvent, string | undefined][] = [
      ["a default endpoint as the first hour knew it", "default", {}, received, "webhook"],
      ["a default endpoint that asks for more of a message", "default", { include: "{html}" }, received, "endpoint"],
      ["a default endpoint that wants all types", "default", { event_types: all }, received, "endpoint"],
      ["a default endpoint of some inboxes", "default", { inbox_ids: "{inb_1}" }, received, "webhook"],
      ["another endpoint", "whk_1", {}, received, "endpoint"],
      ["what is disabled", "whk_1", { disabled_at: at }, received, undefined],
      ["a type that it does not want", "whk_1", {}, sent, undefined],
      ["a type that it names", "whk_1", { event_types: "{message.failed,message.sent}" }, sent, "endpoint"],
      ["all types", "whk_1", { event_types: all }, created, "endpoint"],
      ["an inbox that it names", "whk_1", { inbox_ids: "{inb_2,inb_1}" }, received, "endpoint"],
      ["an inbox that it does not name", "whk_1", { inbox_ids: "{inb_2}" }, received, undefined],
      [
        "what belongs to no inbox, by who named some",
        "whk_1",
        { event_types: all, inbox_ids: "{inb_1}" },
        disabled,
        undefined,
      ],
      ["what no person wrote is skipped in mail alone", "whk_1", { skip_automated: true }, received, "endpoint"],
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
      await tell(disabled);
      expect(await promises()).toMatchObject([{ id: "evt_1.whk_1", inbox: "acc" }]);
    });
  });
}
