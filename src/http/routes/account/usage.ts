import { Type } from "@sinclair/typebox";
import type { Deps } from "../../../flows/deps.ts";
import { accountUsage, countDays, dayAt, daysBefore, mostInboxesShown } from "../../../flows/read/account-usage.ts";
import { parseInstant } from "../../../standards/instant.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { alsoNamed } from "../../judging/known-fields.ts";
import { api } from "../../shell/app.ts";
import { instant, nullable, oneOf, text } from "../../shell/models.ts";
import { operation } from "../../shell/operation.ts";
import { parameter, wrongParameter } from "../../shell/parameters.ts";
import { ownedInbox } from "./inboxes.ts";

/** The days that are counted if the query names none, and the most that it may name. */
const days = { usual: 30, most: 366 };

export const day = (description: string, example: string) => Type.String({ description, examples: [example] });

export const counts = {
  received: Type.Integer({ minimum: 0, description: "How many mails were received", examples: [12] }),
  receivedBytes: Type.Integer({ minimum: 0, description: "The octets of the raw mails received", examples: [48213] }),
  sent: Type.Integer({ minimum: 0, description: "How many mails were accepted for sending", examples: [3] }),
  sentBytes: Type.Integer({
    minimum: 0,
    description: "The octets of the bodies and attachments of the mails accepted for sending",
    examples: [2048],
  }),
  inboxesCreated: Type.Integer({ minimum: 0, description: "How many inboxes were created", examples: [1] }),
};

const Usage = named(
  "Usage",
  Type.Object(
    {
      from: day("The first day (UTC)", "2026-03-20"),
      to: day("The last day (UTC)", "2026-03-21"),
      countedUntil: instant({ description: "All mail up to this instant is counted" }),
      totals: Type.Object(counts, { description: "The sums of all days" }),
      data: Type.Array(
        Type.Object({
          day: Type.Optional(day("By day: the day (UTC)", "2026-03-21")),
          inboxId: Type.Optional(
            nullable(text({ examples: [examples.inboxId] }), {
              description:
                "By inbox: the id, also of a deleted inbox. Null for the mail of days that are no longer kept by inbox",
            }),
          ),
          ...counts,
        }),
        {
          description: `By day: each day, oldest first, also days without mail. By inbox: the ${mostInboxesShown} inboxes with the most mail, the first one with the most`,
        },
      ),
      current: Type.Object(
        {
          inboxes: Type.Integer({ minimum: 0, description: "How many inboxes there are", examples: [2] }),
          messages: Type.Integer({ minimum: 0, description: "How many messages they have", examples: [15] }),
          storageBytes: Type.Integer({
            minimum: 0,
            description:
              "The octets of these messages: of the raw mails received, and of the bodies and attachments sent",
            examples: [50261],
          }),
        },
        { description: "What is there now, without deleted inboxes" },
      ),
    },
    { description: "What an account has used" },
  ),
);

function dayParameter(description: string, example: string) {
  return parameter((value) => value.length === example.length && parseInstant(value) !== undefined, {
    error: "must be a day such as 2026-03-21",
    description,
    examples: [example],
  });
}

/** The query parameters of the first and the last day. */
export const dayRange = {
  from: Type.Optional(
    dayParameter(`The first day (UTC). Without it: ${days.usual - 1} days before \`to\``, "2026-03-20"),
  ),
  to: Type.Optional(
    dayParameter(`The last day (UTC), at most ${days.most} days in all. Without it: today`, "2026-03-21"),
  ),
};

const UsageQuery = Type.Object({
  ...dayRange,
  group_by: Type.Optional(
    oneOf(["day", "inbox"], {
      default: "day",
      description: "`day`: one entry for each day. `inbox`: one for each inbox",
    }),
  ),
  inbox_id: alsoNamed(
    "inboxId",
    Type.Optional(text({ description: "Only mail of this inbox", examples: [examples.inboxId] })),
  ),
});

/** The usage of an account by day or by inbox. */
export function usage(deps: Deps) {
  return api("/v1/usage", "Account").get(
    "",
    async ({ account, query }) => {
      const { inbox_id: inboxId } = query;
      if (inboxId !== undefined) await ownedInbox(deps, account.reach, inboxId);
      const range = rangeOf(query, deps.now());
      const used = await accountUsage(deps, { reach: account.reach, inboxId, ...range }, query.group_by ?? "day");
      return { ...range, ...used, countedUntil: used.countedUntil.toISOString(), data: [...used.data] };
    },
    operation({
      summary: "Get usage",
      access: "read",
      description:
        "Counts mail by day or by inbox, also that of deleted inboxes. A mail is counted within seconds, on its day in UTC. The days of each inbox are kept for 62 days, and then as days of the account. A caller that reaches a part of the account counts those of its inboxes that are not deleted.",
      query: UsageQuery,
      answers: { 200: Usage },
      // `not_found` for an inbox of another account.
      refuses: ["not_found"],
    }),
  );
}

export function rangeOf(query: { from?: string; to?: string }, now: Date): { from: string; to: string } {
  const to = query.to ?? dayAt(now);
  const from = query.from ?? daysBefore(to, days.usual - 1);
  const count = countDays(from, to);
  if (count < 1) throw wrongParameter("from", `must not be after "to", which is ${to}`, "get usage");
  if (count > days.most) throw wrongParameter("from", `must be at most ${days.most} days before "to"`, "get usage");
  return { from, to };
}
