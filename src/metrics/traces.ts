import type { Database, Db } from "../database/db.ts";
import { isId } from "../domain/ids.ts";
import { destinationOfSubject } from "../domain/send/recipients/destinations.ts";
import type { Deps } from "../flows/deps.ts";
import { type Fetching, type Routed, requestNames } from "../http/shell/timed-app.ts";
import { boundedMemory } from "../primitives/memory.ts";
import { parseTraceParent, type SpanName, writeTraceParent } from "../standards/traceparent.ts";
import type { ClaimedItem } from "../store/outbox/claims.ts";
import type { OutboxKind } from "../store/outbox/items.ts";
import { deliveryError } from "../webhook/client.ts";
import type { NewSpan, Tracer } from "./spans.ts";
import { statementName } from "./statement-name.ts";
import type { Watch } from "./watch.ts";

/** The parts of the service in which spans are made. */
export interface TracedParts {
  deps: Deps;
  watch: Watch;
}

/** The most messages whose spans are remembered, so that the first attempts at their outbox rows continue the trace. */
const mostMessages = 10_000;
/** The most statements whose names are remembered. There are fewer. */
const mostStatements = 1_000;

const attempts: Readonly<Record<OutboxKind, NewSpan>> = {
  relay: { name: "relay attempt", kind: "client" },
  webhook: { name: "delivery", kind: "client" },
  parse: { name: "parse later" },
};

/** Adds spans to what is already measured. */
export function traced({ deps, watch }: TracedParts, tracer: Tracer): TracedParts {
  const { run, inside, current } = tracer;
  const messages = boundedMemory<string, SpanName>(mostMessages);

  function newId(...[kind, at]: Parameters<Deps["newId"]>): string {
    const id = deps.newId(kind, at);
    const span = kind === "msg" ? current() : undefined;
    if (span !== undefined) messages.set(id, { traceId: span.traceId, spanId: span.spanId });
    return id;
  }

  return {
    deps: { ...deps, db: tracedDatabase(deps.db, tracer), newId },
    watch: {
      ...watch,
      app: (app) => tracedApp(app, watch.app(app), tracer),
      accept(way, accept) {
        const measured = watch.accept(way, accept);
        return (mail) => {
          const attributes = { way, recipients: mail.envelope.recipients.length, bytes: mail.raw.length };
          return run({ name: "mail in", kind: "server", attributes }, current(), async (span) => {
            const outcome = await measured(mail);
            span.attributes.outcome = outcome;
            if (outcome === "unavailable" || outcome === "undecided") span.fault = outcome;
            return outcome;
          });
        };
      },
      step:
        (name, work) =>
        (...given) =>
          inside({ name }, () => work(...given)),
      send(send) {
        const measured = watch.send(send);
        return (request) => inside({ name: "send" }, () => measured(request));
      },
      relay(relay) {
        const measured = watch.relay(relay);
        return {
          ...measured,
          async send(mail, signal) {
            const span = current();
            const outcomes = await measured.send(mail, signal);
            if (span !== undefined && outcomes.some(({ kind }) => kind !== "sent")) span.fault = "not sent to all";
            return outcomes;
          },
        };
      },
      webhooks(client) {
        const measured = watch.webhooks(client);
        return {
          ...measured,
          async post(request) {
            const span = current();
            if (span === undefined) return measured.post(request);
            const headers = { ...request.headers, traceparent: writeTraceParent(span) };
            const reply = await measured.post({ ...request, headers });
            if (reply.kind === "answered") span.attributes["http.response.status_code"] = reply.status;
            if (deliveryError(reply) !== null) span.fault = `the endpoint: ${reply.kind}`;
            return reply;
          },
        };
      },
      workers: {
        ...watch.workers,
        wrap: (job) => ({
          ...job,
          attempt(item, signal) {
            const { attempt, inboxId } = item;
            const messageId = messageOf(item);
            // Later attempts may come hours later.
            const parent = attempt === 1 ? messages.get(messageId) : undefined;
            const attributes = { attempt, inbox_id: inboxId, message_id: messageId };
            return run({ ...attempts[job.kind.name], attributes }, parent, async (span) => {
              const attempted = await job.attempt(item, signal);
              if (attempted.settlement.dueAt !== null) span.fault ??= "another attempt follows";
              return attempted;
            });
          },
        }),
      },
    },
  };
}

/** The id of the message that an item is about; "" for events of no message, letters, and mail that is not parsed yet. */
function messageOf(item: ClaimedItem): string {
  if ("messageId" in item && typeof item.messageId === "string") return item.messageId;
  const { messageId } = destinationOfSubject(item.subjectId);
  return isId("msg", messageId) ? messageId : "";
}

/** Makes a span of each request, below the caller's span if there is one. If the caller records nothing, neither do we. */
function tracedApp({ routes }: Routed, app: Fetching, { run }: Tracer): Fetching {
  const namesOf = requestNames(routes);
  return {
    fetch(request) {
      const caller = parseTraceParent(request.headers.get("traceparent"));
      if (caller?.isSampled === false) return app.fetch(request);
      const { method, route } = namesOf(request);
      const attributes = { "http.request.method": method, "http.route": route };
      return run({ name: `${method} ${route}`, kind: "server", attributes }, caller, async (span) => {
        const response = await app.fetch(request);
        span.attributes["http.response.status_code"] = response.status;
        if (response.status >= 500) span.fault = `answered ${response.status}`;
        return response;
      });
    },
  };
}

/**
 * Makes a span of each statement and transaction in other work that is recorded: the workers that look for work every second have none.
 * A statement for a batch is in the trace of the item that began the batch.
 */
function tracedDatabase(db: Database, { inside }: Tracer): Database {
  const names = boundedMemory<string, string>(mostStatements);

  function statementSpan(text: string): NewSpan {
    const name = names.get(text) ?? statementName(text);
    names.set(text, name);
    return { name, kind: "client", attributes: { "db.system.name": "postgresql" } };
  }

  const tracedPool = (pool: Db): Db => ({
    ...pool,
    run: (text, values) => inside(statementSpan(text), () => pool.run(text, values)),
    transaction: (work) => inside({ name: "transaction" }, () => pool.transaction((tx) => work(tracedPool(tx)))),
  });

  const { api, sends, mail, work } = db;
  return { ...db, api: tracedPool(api), sends: tracedPool(sends), mail: tracedPool(mail), work: tracedPool(work) };
}
