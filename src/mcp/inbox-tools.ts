import { Type } from "@sinclair/typebox";
import { derivedKey } from "./idempotency.ts";
import { fitting } from "./marks.ts";
import { argumentsOf, Inbox, limitArgument, offsetArgument } from "./schemas.ts";
import { shownInbox } from "./shown.ts";
import { tool } from "./tool.ts";

export const listInboxes = tool({
  name: "list_inboxes",
  title: "List inboxes",
  description: "The account's inboxes, newest first.",
  input: argumentsOf({
    external_id: Type.Optional(Type.String({ description: "Only inboxes with this external id" })),
    limit: limitArgument(20, 100),
    offset: offsetArgument,
  }),
  output: Type.Object({ inboxes: Type.Array(Type.Object(Inbox)), total: Type.Integer() }),
  hints: { readOnly: true, idempotent: true },
  isAboutAccount: true,
  work: ({ external_id: externalId, limit, offset }, { api }) =>
    fitting(limit ?? 20, async (fewer) => {
      const { data, total } = await api.inboxes.list({ externalId, limit: fewer, offset }).page();
      return { inboxes: data.map(shownInbox), total };
    }),
});

export const createInbox = tool({
  name: "create_inbox",
  title: "Create inbox",
  description:
    "Creates an inbox, whose address receives mail at once. A repeated call with the same username within 24 hours returns the same inbox; without a username each call creates one.",
  input: argumentsOf({
    username: Type.Optional(Type.String({ description: "The part before the @. Default: a random name" })),
    domain: Type.Optional(
      Type.String({ description: "A verified domain of the account. Default: that of the service" }),
    ),
    external_id: Type.Optional(Type.String({ description: "Your own id for the owner of the inbox" })),
  }),
  output: Type.Object(Inbox),
  hints: {},
  isAboutAccount: true,
  async work({ username, domain, external_id: externalId }, { api }) {
    // Two calls for random names may be meant as two inboxes, so they have no key.
    const idempotencyKey =
      username === undefined ? undefined : derivedKey("create_inbox", [username, domain ?? null, externalId ?? null]);
    return shownInbox(await api.inboxes.create({ username, domain, externalId }, { idempotencyKey }));
  },
});
