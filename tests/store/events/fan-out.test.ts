import { beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { type Db, query } from "../../../src/database/db.ts";
import type { NewEvent } from "../../../src/domain/events/event-types.ts";
import { idMaker } from "../../../src/domain/ids.ts";
import { newDefaultEndpoint } from "../../../src/flows/events/manage-webhook.ts";
import { insertEndpoint, listEndpoints } from "../../../src/store/events/endpoints.ts";
import { insertEvents } from "../../../src/store/events/fan-out.ts";
import { enginesHere } from "../../support/engines.ts";
import { plainSealing } from "../../support/plain-sealing.ts";
import { setUpEngine } from "../../support/set-up-engine.ts";

const at = new Date("2026-03-21T10:05:00.000Z");
const newId = idMaker((length) => crypto.getRandomValues(new Uint8Array(length)));
const deps = { now: () => at, newId, sealing: plainSealing };

/** Columns of an endpoint of the account `acc`; `whk_default` is its default endpoint. */
type Subscription = Partial<Record<"event_types" | "inbox_ids" | "external_ids" | "include", string>> & {
  skip_automated?: boolean;
  disabled_at?: Date;
};

for (const engine of enginesHere()) {
  describe(`The deliveries that an event inserts (${engine})`, () => {
    const under = setUpEngine(engine);
    let db: Db;
    beforeAll(async () => {
      db = under.db.api;
      await query(
        db,
        sql`insert into accounts (id, name, plan, created_at) select id, id, 'free', ${at} from (values ('acc'), ('stranger')) a (id)`,
      );
      await query(
        db,
        sql`insert into inboxes (id, account_id, username, external_id, created_at) values ('inb_1', 'acc', 'ada', 'user-7', ${at})`,
      );
    });
    beforeEach(async () => {
      for (const table of ["outbox", "events", "endpoints"]) await query(db, sql`delete from ${sql.identifier(table)}`);
    });

    async function subscribe(id: string, subscription: Subscription = {}, accountId = "acc"): Promise<void> {
      const {
        event_types = "{message.received}",
        inbox_ids = null,
        external_ids = null,
        include = "{}",
        skip_automated = false,
      } = subscription;
      const disabledAt = subscription.disabled_at ?? null;
      await query(
        db,
        sql`insert into endpoints (id, account_id, is_default, url, secret, created_at, event_types, inbox_ids, external_ids, include, skip_automated, disabled_at)
            values (${id}, ${accountId}, ${id === "whk_default"}, 'https://a.example', 'whsec_', ${at}, ${event_types}::text[],
              ${inbox_ids}::text[], ${external_ids}::text[], ${include}::text[], ${skip_automated}::boolean, ${disabledAt}::timestamptz)`,
      );
    }

    const about = { id: "evt_1", accountId: "acc", inboxId: "inb_1", threadId: null, messageId: null, occurredAt: at };
    const received: NewEvent = { ...about, type: "message.received", data: null };
    const sent: NewEvent = {
      ...about,
      type: "message.sent",
      data: { status: "sent", providerMessageId: null, recipients: [] },
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

    const deleted: NewEvent = {
      ...about,
      inboxId: "inb_gone",
      type: "inbox.deleted",
      data: {
        address: "eve@inbox.localhost",
        externalId: "user-7",
        createdAt: at.toISOString(),
      },
    };

    async function tell(event: NewEvent = received): Promise<boolean> {
      return insertEvents(db, [event]);
    }

    function deliveriesInLine() {
      return query<Record<string, unknown>>(
        db,
        sql`select subject_id as id, kind, lane, inbox_id as inbox, event_id as event, state
            from outbox order by subject_id`,
      );
    }

    const all = "{*}";
    const rows: [string, string, Subscription, NewEvent, "delivered" | undefined][] = [
      ["a default endpoint", "whk_default", {}, received, "delivered"],
      [
        "a default endpoint that asks for more of a message",
        "whk_default",
        { include: "{html}" },
        received,
        "delivered",
      ],
      ["a default endpoint that wants all types", "whk_default", { event_types: all }, received, "delivered"],
      ["a default endpoint of some inboxes", "whk_default", { inbox_ids: "{inb_1}" }, received, "delivered"],
      ["another endpoint", "whk_1", {}, received, "delivered"],
      ["an endpoint that is disabled", "whk_1", { disabled_at: at }, received, undefined],
      ["a type that it does not want", "whk_1", {}, sent, undefined],
      ["a type that it names", "whk_1", { event_types: "{message.failed,message.sent}" }, sent, "delivered"],
      ["all types", "whk_1", { event_types: all }, created, "delivered"],
      ["an inbox that it names", "whk_1", { inbox_ids: "{inb_2,inb_1}" }, received, "delivered"],
      ["an inbox that it does not name", "whk_1", { inbox_ids: "{inb_2}" }, received, undefined],
      [
        "an event without an inbox, for an endpoint that names some",
        "whk_1",
        { event_types: all, inbox_ids: "{inb_1}" },
        disabled,
        undefined,
      ],
      ["an inbox of a tenant that it names", "whk_1", { external_ids: "{user-8,user-7}" }, received, "delivered"],
      ["an inbox of a tenant that it does not name", "whk_1", { external_ids: "{user-8}" }, received, undefined],
      [
        "its inbox, but of another tenant",
        "whk_1",
        { inbox_ids: "{inb_1}", external_ids: "{user-8}" },
        received,
        undefined,
      ],
      [
        "its tenant, but another inbox",
        "whk_1",
        { inbox_ids: "{inb_2}", external_ids: "{user-7}" },
        received,
        undefined,
      ],
      [
        "an inbox that is gone, of its tenant",
        "whk_1",
        { event_types: all, external_ids: "{user-7}" },
        deleted,
        "delivered",
      ],
      [
        "an event without an inbox, for an endpoint of a tenant",
        "whk_1",
        { event_types: all, external_ids: "{user-7}" },
        disabled,
        undefined,
      ],
      ["automated mail is skipped in mail alone", "whk_1", { skip_automated: true }, received, "delivered"],
    ];
    test.each(rows)("%s", async (_, id, subscription, event, outcome) => {
      await subscribe(id, subscription);
      expect(await tell(event)).toBe(outcome === "delivered");
      expect((await deliveriesInLine()).map(({ kind }) => kind)).toEqual(outcome === "delivered" ? ["webhook"] : []);
    });

    test("each endpoint has its own delivery in its own lane", async () => {
      await subscribe("whk_default");
      await subscribe("whk_1");
      await subscribe("whk_2", { event_types: all });
      await subscribe("whk_3", {}, "stranger");
      expect(await tell()).toBe(true);
      const common = { kind: "webhook", inbox: "inb_1", event: "evt_1", state: "ready" };
      expect(await deliveriesInLine()).toEqual([
        { id: "evt_1", lane: "acc", ...common },
        { id: "evt_1.whk_1", lane: "whk_1", ...common },
        { id: "evt_1.whk_2", lane: "whk_2", ...common },
      ]);
    });

    test("a second default endpoint of an account is not inserted", async () => {
      const second = { accountId: "acc", url: "https://b.example", secret: "whsec_2" };
      await subscribe("whk_default");
      expect(await insertEndpoint(db, newDefaultEndpoint(deps, second))).toBe(false);
      expect((await listEndpoints(db, "acc")).map(({ id }) => id)).toEqual(["whk_default"]);
    });

    test("an event without an inbox waits under its account", async () => {
      await subscribe("whk_1", { event_types: all });
      await tell(disabled);
      expect(await deliveriesInLine()).toMatchObject([{ id: "evt_1.whk_1", inbox: "acc" }]);
    });
  });
}
