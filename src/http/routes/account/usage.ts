import { type Static, Type } from "@sinclair/typebox";
import { reachedInboxes } from "../../../flows/account/token-reach.ts";
import type { Deps } from "../../../flows/deps.ts";
import { accountUsage, countDays, dayAt, daysBefore } from "../../../flows/read/account-usage.ts";
import { parseInstant } from "../../../standards/instant.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { alsoNamed } from "../../judging/known-fields.ts";
import { api } from "../../shell/app.ts";
import { instant, text } from "../../shell/models.ts";
import { operation } from "../../shell/operation.ts";
import { parameter, wrongParameter } from "../../shell/parameters.ts";
import { ownedInbox } from "./inboxes.ts";

/** The days that are counted if the query names none, and the most that it may name. */
const days = { usual: 30, most: 366 };

const day = (description: string, example: string) => Type.String({ description, examples: [example] });

const counts = {
  received: Type.Integer({ minimum: 0, description: "How many mails were received", examples: [12] }),
  sent: Type.Integer({ minimum: 0, description: "How many mails were accepted for sending", examples: [3] }),
};

const Usage = named(
  "Usage",
  Type.Object(
    {
      from: day("The first day (UTC)", "2026-03-20"),
      to: day("The last day (UTC)", "2026-03-21"),
      countedUntil: instant({ description: "Mail up to this instant is counted" }),
      totals: Type.Object(counts, { description: "The sums of all days" }),
      data: Type.Array(Type.Object({ day: day("The day (UTC)", "2026-03-21"), ...counts }), {
        description: "Each day, oldest first, also days without mail",
      }),
    },
    { description: "The mail of an account by day" },
  ),
);

function dayParameter(description: string, example: string) {
  return parameter((value) => value.length === example.length && parseInstant(value) !== undefined, {
    error: "must be a day such as 2026-03-21",
    description,
    examples: [example],
  });
}

const UsageQuery = Type.Object({
  from: Type.Optional(
    dayParameter(`The first day (UTC). Without it: ${days.usual - 1} days before \`to\``, "2026-03-20"),
  ),
  to: Type.Optional(
    dayParameter(`The last day (UTC), at most ${days.most} days in all. Without it: today`, "2026-03-21"),
  ),
  inbox_id: alsoNamed(
    "inboxId",
    Type.Optional(text({ description: "Only mail of this inbox", examples: [examples.inboxId] })),
  ),
});

/** The mail of an account by day. */
export function usage(deps: Deps) {
  return api("/v1/usage", "Account").get(
    "",
    async ({ account, query }) => {
      const inboxIds = reachedInboxes(account, query.inbox_id === undefined ? undefined : [query.inbox_id]);
      if (query.inbox_id !== undefined) await ownedInbox(deps, account.id, query.inbox_id);
      const range = rangeOf(query, deps.now());
      const {
        countedUntil,
        totals,
        days: data,
      } = await accountUsage(deps, { accountId: account.id, inboxIds, ...range });
      return { ...range, countedUntil: countedUntil.toISOString(), totals, data };
    },
    operation({
      summary: "Get usage",
      access: "read",
      description:
        "Counts the mail of all inboxes by day, of those that are not deleted. A token for one inbox counts that inbox.",
      query: UsageQuery,
      answers: { 200: Usage },
      // `not_found` for an inbox of another account.
      refuses: ["not_found"],
    }),
  );
}

function rangeOf(query: Static<typeof UsageQuery>, now: Date): { from: string; to: string } {
  const to = query.to ?? dayAt(now);
  const from = query.from ?? daysBefore(to, days.usual - 1);
  const count = countDays(from, to);
  if (count < 1) throw wrongParameter("from", `must not be after "to", which is ${to}`, "get usage");
  if (count > days.most) throw wrongParameter("from", `must be at most ${days.most} days before "to"`, "get usage");
  return { from, to };
}
