import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readConfig } from "../../src/config.ts";
import type { Deps } from "../../src/flows/deps.ts";
import { otlpExport, tracesOf } from "../../src/metrics/otlp.ts";
import { type Span, tracer } from "../../src/metrics/spans.ts";
import { statementName } from "../../src/metrics/statement-name.ts";
import { unwatched } from "../../src/metrics/watch.ts";
import { closers } from "../../src/service/opening.ts";
import { realWorld } from "../../src/service/time-and-chance.ts";
import { withTraces } from "../../src/service/traces.ts";
import { webhookClient } from "../../src/webhook/client.ts";
import { readMetrics } from "../support/metrics.ts";
import { answer, hang, type Receiver, startReceiver } from "../support/receiver.ts";
import { untilSo } from "../support/until.ts";
import { startWorld, type World, type WorldInbox } from "../support/world.ts";

interface Exported {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: { key: string; value: Record<string, unknown> }[];
  status: { code?: number; message?: string };
}

const caller = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" };
const traceparent = `00-${caller.traceId}-${caller.spanId}-01`;

describe("With a collector,", () => {
  let collector: Receiver;
  let hooks: Receiver;
  let world: World;
  let inbox: WorldInbox;

  beforeAll(async () => {
    collector = await startReceiver();
    hooks = await startReceiver();
    world = await startWorld({
      env: {
        OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.port}/otlp/`,
        OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20of-the-collector",
        OTEL_SERVICE_NAME: "post",
        METRICS_PORT: "0",
        WEBHOOK_URL: hooks.url,
        ALLOW_PRIVATE_WEBHOOKS: "1",
      },
    });
    inbox = await world.inbox("traced");
  }, 60_000);

  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
    await collector?.close();
    await hooks?.close();
  });

  const exported = (): Exported[] =>
    collector.requests.flatMap(({ body }) => JSON.parse(body).resourceSpans[0].scopeSpans[0].spans);

  /** The spans of a trace, once one has this name. */
  async function traceWith(name: string, isWanted: (span: Exported) => boolean = () => true): Promise<Exported[]> {
    const find = () => exported().find((span) => span.name === name && isWanted(span));
    await untilSo(() => find() !== undefined);
    const found = find();
    return exported().filter(({ traceId }) => traceId === found?.traceId);
  }

  test("the requests to it are as OTLP wants them", async () => {
    const { method, path, headers, body } = await collector.request(1);
    expect([method, path]).toEqual(["POST", "/otlp/v1/traces"]);
    expect(headers).toMatchObject({
      "content-type": "application/json",
      authorization: "Bearer of-the-collector",
    });
    const [{ resource, scopeSpans }] = JSON.parse(body).resourceSpans;
    expect(resource.attributes).toContainEqual({ key: "service.name", value: { stringValue: "post" } });
    expect(scopeSpans[0].scope.name).toBe("inboxd");
    for (const span of scopeSpans[0].spans as Exported[]) {
      expect(span.traceId).toMatch(/^[\da-f]{32}$/);
      expect(span.spanId).toMatch(/^[\da-f]{16}$/);
      // The clock of a world stands, and the time of a span goes on.
      expect(span.startTimeUnixNano).toMatch(/^\d{19}$/);
      expect(BigInt(span.endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(span.startTimeUnixNano));
    }
  });

  test("a request is in the trace of its caller, with its statements in it", async () => {
    expect((await world.api(`/v1/inboxes/${inbox.id}`, { headers: { traceparent } })).status).toBe(200);
    const spans = await traceWith("GET /v1/inboxes/:id", ({ traceId }) => traceId === caller.traceId);
    const request = spans.find(({ name }) => name === "GET /v1/inboxes/:id");
    expect(request).toMatchObject({ parentSpanId: caller.spanId, kind: 2, status: {} });
    expect(request?.attributes).toContainEqual({ key: "http.response.status_code", value: { intValue: "200" } });
    const statements = spans.filter(({ parentSpanId }) => parentSpanId === request?.spanId);
    const names = statements.map(({ name }) => name);
    expect(names).toContainEqual(expect.stringMatching(/^(?:select [a-z_]+|transaction)$/));
  });

  test("a request of a caller that records nothing is not recorded", async () => {
    const silent = caller.traceId.replace("0af", "1af");
    const path = `/v1/inboxes/${inbox.id}/send`;
    const headers = { traceparent: `00-${silent}-${caller.spanId}-00`, "idempotency-key": "silent" };
    const body = { to: "jane@example.com", subject: "Secret question", body: "When?" };
    expect((await world.api(path, { method: "POST", headers, body })).status).toBe(200);
    await world.api(path, { method: "POST", body: {} });
    const later = await traceWith("POST /v1/inboxes/:id/send");
    expect(later.find(({ name }) => name === "POST /v1/inboxes/:id/send")?.parentSpanId).toBeUndefined();
    expect(exported().filter(({ traceId, name }) => traceId === silent || name === "send")).toEqual([]);
  });

  test("a mail is one trace from its last octet to the webhook, which gets it as traceparent", async () => {
    const mail = `From: jane@example.com\r\nTo: ${inbox.address}\r\nSubject: Secret plan\r\n\r\nMeet me at noon\r\n`;
    expect(await world.deliver(mail, inbox.address)).toStartWith("250");
    const received = () => hooks.requests.find(({ body }) => JSON.parse(body).event === "message.received");
    await untilSo(() => received() !== undefined);
    const field = received()?.headers.traceparent ?? "";
    const [, traceId, spanId] = /^00-([\da-f]{32})-([\da-f]{16})-01$/.exec(field) ?? [];
    const spans = await traceWith("delivery", (span) => span.spanId === spanId);
    const named = (name: string) => spans.find((span) => span.name === name);
    const arrival = named("mail in");
    expect(arrival).toMatchObject({ traceId, kind: 2 });
    expect(arrival?.parentSpanId).toBeUndefined();
    expect(named("parse")?.parentSpanId).toBe(arrival?.spanId);
    expect(named("commit")?.parentSpanId).toBe(arrival?.spanId);
    expect(named("delivery")).toMatchObject({ spanId, parentSpanId: named("commit")?.spanId, kind: 3, status: {} });
    const statements = spans.filter(({ parentSpanId }) => parentSpanId === named("commit")?.spanId);
    const names = statements.map(({ name }) => name);
    expect(names).toContainEqual(expect.stringMatching(/^(?:insert into|update|transaction)/));
  });

  test("a send is one trace from its request to its relay", async () => {
    const traceId = caller.traceId.replace("0af", "2af");
    const sent = await world.api(`/v1/inboxes/${inbox.id}/send`, {
      method: "POST",
      headers: { traceparent: `00-${traceId}-${caller.spanId}-01`, "idempotency-key": "traced" },
      body: { to: "jane@example.com", subject: "Secret answer", body: "Not before one" },
    });
    // The request ends after the attempt, for which it waits.
    const spans = await traceWith("POST /v1/inboxes/:id/send", (span) => span.traceId === traceId);
    const named = (name: string) => spans.find((span) => span.name === name);
    const request = named("POST /v1/inboxes/:id/send");
    expect(request?.parentSpanId).toBe(caller.spanId);
    expect(named("send")?.parentSpanId).toBe(request?.spanId);
    expect(named("relay attempt")).toMatchObject({ parentSpanId: named("send")?.spanId, kind: 3 });
    expect(named("relay attempt")?.attributes).toContainEqual({
      key: "message_id",
      value: { stringValue: sent.body.messageId },
    });
  });

  test("no span has an address, a subject, a text or a key", () => {
    const texts = collector.requests.map(({ body }) => body).join("\n");
    for (const word of ["jane@", "example.com", "traced", "Secret", "noon", world.apiKey]) {
      expect(texts).not.toContain(word);
    }
  });

  test("work goes on while the collector fails, and the metrics count what it has not taken", async () => {
    const dropped = async () => (await readMetrics(world)).get('inboxd_trace_spans_total{outcome="dropped"}') ?? 0;
    expect((await readMetrics(world)).get('inboxd_trace_spans_total{outcome="sent"}')).toBeGreaterThan(0);
    collector.behave(answer(503));
    const before = await dropped();
    expect((await world.api("/v1/account")).status).toBe(200);
    await untilSo(async () => (await dropped()) > before);
  });
});

test("Without a collector the parts of the service stay what they are", () => {
  const parts = { deps: {} as Deps, watch: unwatched };
  expect(withTraces(parts, readConfig({}), closers())).toBe(parts);
});

describe("The export of spans", () => {
  const span: Span = {
    traceId: caller.traceId,
    spanId: caller.spanId,
    parentId: undefined,
    name: "delivery",
    kind: "client",
    attributes: { attempt: 2, inbox_id: "inb_1" },
    startMs: 0.25,
    endMs: 1.5,
    fault: "answered 500",
  };

  function exporting(collector: Receiver) {
    const counts = { sent: 0, dropped: 0 };
    const client = webhookClient({ allowPrivate: true, version: "0", timeoutMs: 60_000 });
    const spans = otlpExport({
      client,
      url: collector.url,
      headers: {},
      resource: {},
      now: () => new Date("2026-03-21T10:00:00Z"),
      counted: (outcome, count) => {
        counts[outcome] += count;
      },
    });
    return { spans, counts };
  }

  test("writes the times in nanoseconds, and each attribute by its type", () => {
    const offsetMs = Date.parse("2026-03-21T10:00:00Z");
    expect(tracesOf([span], { "service.name": "post" }, offsetMs)).toEqual({
      resourceSpans: [
        {
          resource: { attributes: [{ key: "service.name", value: { stringValue: "post" } }] },
          scopeSpans: [
            {
              scope: { name: "inboxd" },
              spans: [
                {
                  traceId: caller.traceId,
                  spanId: caller.spanId,
                  parentSpanId: undefined,
                  name: "delivery",
                  kind: 3,
                  startTimeUnixNano: `${offsetMs}250000`,
                  endTimeUnixNano: `${offsetMs + 1}500000`,
                  attributes: [
                    { key: "attempt", value: { intValue: "2" } },
                    { key: "inbox_id", value: { stringValue: "inb_1" } },
                  ],
                  status: { code: 2, message: "answered 500" },
                },
              ],
            },
          ],
        },
      ],
    });
  });

  test("sends at its stop what still waits", async () => {
    const collector = await startReceiver();
    const { spans, counts } = exporting(collector);
    for (let number = 0; number < 700; number++) spans.add(span);
    await spans.stop();
    expect(counts).toEqual({ sent: 700, dropped: 0 });
    await collector.close();
  });

  test("drops spans instead of waiting for a collector that hangs", async () => {
    const collector = await startReceiver({ behaviour: hang });
    const { spans, counts } = exporting(collector);
    // A batch of 512 is on the way, and 4,096 wait.
    for (let number = 0; number < 5_000; number++) spans.add(span);
    expect(counts).toEqual({ sent: 0, dropped: 5_000 - 512 - 4_096 });
    await spans.stop();
    await collector.close();
  });
});

test("Work that goes on after its span has ended is in no span", async () => {
  const ended: Span[] = [];
  const { run, inside, current } = tracer(realWorld.randomBytes, (span) => void ended.push(span));
  const over = Promise.withResolvers<void>();
  let later: Promise<Span | undefined> | undefined;
  await run({ name: "request" }, undefined, async () => {
    later = over.promise.then(current);
    expect(current()?.name).toBe("request");
    await inside({ name: "statement" }, async () => undefined);
  });
  await inside({ name: "statement" }, async () => undefined);
  over.resolve();
  expect(await later).toBeUndefined();
  const [statement, request] = ended;
  expect(ended).toHaveLength(2);
  expect([statement?.parentId, statement?.traceId]).toEqual([request?.spanId, request?.traceId]);
  expect(request?.parentId).toBeUndefined();
});

test("Work that throws ends its span with the name of the error alone", async () => {
  const ended: Span[] = [];
  const { run } = tracer(realWorld.randomBytes, (span) => void ended.push(span));
  const failing = run({ name: "send" }, undefined, async () => {
    throw new TypeError("about jane@example.com");
  });
  expect(await failing.catch((error: Error) => error.message)).toBe("about jane@example.com");
  expect(ended.map(({ fault }) => fault)).toEqual(["TypeError"]);
});

test.each([
  ["select id from inboxes where id = $1", "select inboxes"],
  ['select m.* from "messages" m join threads t on t.id = m.thread_id', "select messages"],
  ["with asked as (select 1) select * from asked join events e on true", "select events"],
  ["select * from unnest($1::text[]) as asked (id) join outbox o on true", "select outbox"],
  ["select 1", "select"],
  ["select id from inboxes where id = $1 for no key update of inboxes", "select inboxes"],
  ["select id from outbox for update skip locked", "select outbox"],
  ["insert into settings (name) values ($1) on conflict (name) do update set value = 'x'", "insert into settings"],
  ["update inboxes set name = 'Jane' where id = $1", "update inboxes"],
  [
    "with gone as (delete from outbox where id = $1), kept as (insert into deliveries select 1) update messages set x = 1",
    "delete from outbox, insert into deliveries, update messages",
  ],
])("The statement %s has its name", (text, name) => {
  expect(statementName(text)).toBe(name);
});
