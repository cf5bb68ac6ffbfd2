import { Type } from "@sinclair/typebox";
import type { Reach } from "../../../domain/access/access.ts";
import { defaultEventTypes, eventTypes, isAskableType } from "../../../domain/events/event-types.ts";
import {
  type IncludeWord,
  includeWords,
  inOrder,
  type Subscription,
  sourcesInReach,
} from "../../../domain/events/subscription.ts";
import type { Deps } from "../../../flows/deps.ts";
import { examples } from "../../document/examples.ts";
import { alsoNamed } from "../../judging/known-fields.ts";
import type { Account } from "../../shell/auth.ts";
import { oneOf, text } from "../../shell/models.ts";
import { parameter, wrongParameter } from "../../shell/parameters.ts";
import { ownedInbox } from "../account/inboxes.ts";

/** A query may name at most this many inboxes, or `externalId`s. */
const mostNamed = 100;

/** The query parameters of a subscription, for the log and for streams. */
export const subscriptionQuery = {
  types: Type.Optional(
    parameter((list) => wordsOf(list).every(isAskableType), {
      error: `must be a comma list of event types (${eventTypes.join(", ")}), or *`,
      description: "Which events: a comma list of types, or `*` for all. Without it: only `message.received`",
      examples: ["message.received,message.failed"],
    }),
  ),
  inbox_id: alsoNamed(
    "inboxId",
    Type.Optional(
      text({
        description: `Only events of these inboxes: a comma list, at most ${mostNamed}`,
        examples: [examples.inboxId],
      }),
    ),
  ),
  external_id: alsoNamed(
    "externalId",
    Type.Optional(
      text({
        min: 1,
        description: `Only events of inboxes with one of these \`externalId\`s, for example those of a tenant, also of inboxes that are created later: a comma list, at most ${mostNamed}`,
        examples: [examples.externalId],
      }),
    ),
  ),
  automated: Type.Optional(
    oneOf(["true", "false"], {
      description: "For inbound mail: `false` leaves out automated mail, `true` leaves out all other mail",
      examples: ["false"],
    }),
  ),
  include: Type.Optional(
    parameter((list) => wordsOf(list).every((word) => includeWords.some((known) => known === word)), {
      error: `must be a comma list of ${includeWords.join(", ")}`,
      description:
        "Further fields of `message`: `html` (body_html, from_name, reply_to), `extracted` (extracted_text, extracted_html, codes, links), `automated`, `recipients` (to_list, tag, thread_metadata), `authentication`, `spam`",
      examples: ["extracted"],
    }),
  ),
};

export interface SubscriptionWords {
  types?: string;
  inbox_id?: string;
  external_id?: string;
  automated?: "true" | "false";
  include?: string;
}

export interface AskedSubscription extends Subscription {
  include: readonly IncludeWord[];
}

/**
 * Reads the subscription in a query. Throws `not_found` for an inbox that the caller does not have or may not reach.
 */
export async function askedSubscription(
  deps: Deps,
  account: Account,
  { types, inbox_id, external_id, automated, include }: SubscriptionWords,
): Promise<AskedSubscription> {
  const inboxIds = inbox_id === undefined ? undefined : await ownedInboxes(deps, account.reach, inbox_id);
  const externalIds = external_id === undefined ? undefined : namedIn("external_id", external_id);
  return {
    types: types === undefined ? defaultEventTypes : wordsOf(types),
    ...sourcesInReach(account.reach, { inboxIds, externalIds }),
    automated: automated === undefined ? undefined : automated === "true",
    include: includedBy(include),
  };
}

/** The words of an `include` parameter. */
export function includedBy(include: string | undefined): IncludeWord[] {
  return include === undefined ? [] : inOrder(wordsOf(include));
}

async function ownedInboxes(deps: Deps, reach: Reach, list: string): Promise<string[]> {
  const ids = namedIn("inbox_id", list);
  return Promise.all(ids.map(async (id) => (await ownedInbox(deps, reach, id)).id));
}

function namedIn(parameterName: string, list: string): string[] {
  const names = [...new Set(wordsOf(list))];
  if (names.length <= mostNamed) return names;
  throw wrongParameter(parameterName, `must name at most ${mostNamed}`, "list events");
}

function wordsOf(list: string): string[] {
  return list.split(",").map((word) => word.trim());
}
