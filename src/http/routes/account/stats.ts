import { Type } from "@sinclair/typebox";
import type { Deps } from "../../../flows/deps.ts";
import { type AccountStats, accountStats, mostMinutes } from "../../../flows/read/account-stats.ts";
import { named } from "../../document/schema.ts";
import { api } from "../../shell/app.ts";
import { instant, nullable } from "../../shell/models.ts";
import { operation } from "../../shell/operation.ts";

const events = (what: string, example: number) =>
  Type.Integer({ minimum: 0, description: `How many ${what} events`, examples: [example] });

const milliseconds = (description: string, example: number) =>
  nullable(Type.Integer({ minimum: 0, examples: [example] }), { description });

const Stats = named(
  "Stats",
  Type.Object(
    {
      perMinute: Type.Array(
        Type.Object({
          at: instant({ description: "When the minute began", examples: ["2026-03-21T10:05:00.000Z"] }),
          received: events("`message.received`", 4),
          sent: events("`message.sent`", 2),
          failed: events("`message.failed`", 0),
          bounced: events("`message.bounced`", 0),
        }),
        {
          description:
            "The last minutes, oldest first; the last one is not over yet. Fewer than asked for if the account had more than 200,000 events in them",
        },
      ),
      delivery: Type.Object(
        {
          p50Ms: milliseconds("Half of the deliveries took at most this long; null without a delivery", 21),
          p99Ms: milliseconds("99 of 100 deliveries took at most this long; null without a delivery", 340),
        },
        {
          description:
            "How long it took from an event to the 2xx answer of a webhook, for events of these minutes, of the last 2,000 attempts",
        },
      ),
      outbox: Type.Object(
        {
          oldestSeconds: nullable(Type.Integer({ minimum: 0, examples: [0] }), {
            description: "How long its oldest item has been there; null if it is empty",
          }),
          count: Type.Integer({ minimum: 0, description: "How many items it has", examples: [1] }),
        },
        { description: "Mail and events that are still to be sent" },
      ),
    },
    { description: "The mail of the last minutes, the time of deliveries, and the outbox" },
  ),
);

const StatsQuery = Type.Object({
  minutes: Type.Integer({ minimum: 1, maximum: mostMinutes, default: 60, description: "How many minutes to count" }),
});

/** The mail of an account by minute, and how its deliveries and its outbox are. */
export function stats(deps: Deps) {
  const statsOf = accountStats(deps);
  return api("/v1/stats", "Account").get(
    "",
    async ({ account, query }) => toStats(await statsOf(account, query.minutes)),
    operation({
      summary: "Get stats",
      access: "read",
      description:
        "Counts the mail of the account by minute, from the event log, and shows how long deliveries to webhooks take and what waits in the outbox. A caller without access `full` to the whole account sees no webhooks. It is counted at most once in 10 seconds: until then the answer stays the same.",
      query: StatsQuery,
      answers: { 200: Stats },
    }),
  );
}

function toStats({ perMinute, delivery: { p50Ms, p99Ms }, outbox: { oldestSeconds, count } }: AccountStats) {
  return {
    perMinute: perMinute.map(({ minute, ...counts }) => ({ at: new Date(minute * 60_000).toISOString(), ...counts })),
    delivery: { p50Ms: wholeOrNull(p50Ms), p99Ms: wholeOrNull(p99Ms) },
    outbox: { oldestSeconds: wholeOrNull(oldestSeconds), count },
  };
}

function wholeOrNull(value: number | undefined): number | null {
  return value === undefined ? null : Math.round(value);
}
