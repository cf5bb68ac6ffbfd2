import { Type } from "@sinclair/typebox";
import type { Fault } from "../../../domain/errors.ts";
import { faultsOfMetadata } from "../../../domain/metadata.ts";
import { sendPolicies } from "../../../domain/policy.ts";
import { searchWords as searchWordsChoices } from "../../../domain/search.ts";
import { faultsOfApprovers, mostApprovers } from "../../../domain/send/approvers.ts";
import { displayNameRule, isDisplayName } from "../../../domain/send/recipients/display-name.ts";
import { mostAliases } from "../../../domain/username.ts";
import type { Deps } from "../../../flows/deps.ts";
import { inboxAddress } from "../../../standards/address.ts";
import { parseInstant, yearsOfInstants } from "../../../standards/instant.ts";
import type { Inbox } from "../../../store/account/inboxes.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { alsoNamed } from "../../judging/known-fields.ts";
import { instant, nextCursor, nullable, oneOf, pageQuery, text, totalCount } from "../../shell/models.ts";
import { cursorParameter } from "../../shell/parameters.ts";
import { isTextsPatch, texts, textsPatch } from "../../shell/texts.ts";
import { sendPolicyMeanings, sendPolicyShown } from "./send-policy.ts";

export const InboxShape = named(
  "Inbox",
  Type.Object(
    {
      id: Type.String({ description: "Id of the inbox", examples: [examples.inboxId] }),
      address: Type.String({ description: "Its email address", examples: [examples.address] }),
      externalId: nullable(Type.String({ examples: [examples.externalId] }), {
        description: "Your own id for its owner, if you gave one",
      }),
      createdAt: instant({ description: "When it was created", examples: [examples.inboxCreatedAt] }),
      unreadThreads: Type.Integer({ description: "The number of its unread threads", examples: [1] }),
      lastMessageAt: nullable(instant({ examples: [examples.receivedAt] }), {
        description: "When its last message was received or accepted for sending; null if it has none",
      }),
      retentionDays: nullable(Type.Integer({ minimum: 1, maximum: 3650, examples: [90] }), {
        description: "Days after which its mail is removed; null: those of the account",
      }),
      sendPolicy: sendPolicyShown("the inbox"),
      displayName: nullable(Type.String({ examples: ["Ada Lovelace"] }), {
        description: "The name beside its address in mail that it sends without `fromName`",
      }),
      metadata: Type.Record(Type.String(), Type.String(), {
        description: "Your own strings, by name. They are never in a mail",
        examples: [{}],
      }),
      aliases: Type.Array(Type.String(), {
        description: "Its other addresses, at the same domain",
        examples: [[]],
      }),
      disabled: Type.Boolean({ description: "Whether it takes and sends no mail", examples: [false] }),
      expiresAt: nullable(instant(), {
        description: "When it is deleted with its mail; null: never",
        examples: [null],
      }),
      updatedAt: instant({
        description: "When a field that you set was last changed; at first when it was created",
        examples: [examples.inboxCreatedAt],
      }),
      approvers: nullable(Type.Array(Type.String({ examples: [examples.approver] })), {
        description: "The people who approve its mail; null: those of the service (`APPROVERS`)",
        examples: [[examples.approver]],
      }),
      searchWords: nullable(oneOf(searchWordsChoices), {
        description: "Which words of its new mail are indexed for search, if fewer than in the account; null: the same",
        examples: [null],
      }),
    },
    { description: "An inbox: an email address that sends and receives" },
  ),
);

const externalId = { min: 1, max: 255, examples: [examples.externalId] };

const sendPolicy = alsoNamed(
  "send_policy",
  Type.Optional(
    nullable(sendPolicyShown("the inbox"), {
      description: `To whom the inbox may send; null: \`open\`. ${sendPolicyMeanings}. Only for keys with access \`full\``,
      error: `must be null or one of ${sendPolicies.join(", ")}`,
      examples: ["known"],
    }),
  ),
);

const displayName = alsoNamed(
  "display_name",
  Type.Optional(
    nullable(text({ examples: ["Ada Lovelace"] }), {
      description:
        "The name beside its address in mail that it sends without `fromName`: 1 to 100 characters, none of `@<>`. Null: no name",
      error: "must be null or a string",
    }),
  ),
);

const expiresAt = alsoNamed(
  "expires_at",
  Type.Optional(
    nullable(
      text({
        max: 40,
        error: `must be an RFC 3339 date-time of ${yearsOfInstants}`,
        examples: ["2026-06-21T00:00:00.000Z"],
      }),
      {
        description:
          "When the inbox is deleted with its mail, in the future: within a minute of it, as by `DELETE`. Null: never",
        error: "must be null or an instant",
        examples: [null],
      },
    ),
  ),
);

const approvers = Type.Optional(
  nullable(Type.Array(text({ max: 254, examples: [examples.approver] }), { maxItems: mostApprovers }), {
    description:
      "The people who get a letter about each mail that waits for approval, and whose link decides: at most 5 addresses whose mail does not come to this service. An empty list: nobody; null: those of the service (`APPROVERS`). Only for keys with access `full`",
    error: "must be null or an array of at most 5 email addresses",
    examples: [[examples.approver]],
  }),
);

/** The meanings of the choices of `searchWords`. */
export const searchWordsMeanings = "`all`; `head`: those of its subject and addresses; `off`: none";

const searchWords = alsoNamed(
  "search_words",
  Type.Optional(
    nullable(oneOf(searchWordsChoices), {
      description: `Which words of a message are indexed for search: ${searchWordsMeanings}. The fewer of inbox and account count; null: those of the account. It holds for new mail: mail that is indexed stays as it is`,
      error: `must be null or one of ${searchWordsChoices.join(", ")}`,
      examples: ["head"],
    }),
  ),
);

const metadata = {
  description:
    "Your own strings, by name: at most 20 keys of 1 to 40 letters, digits and `_ . -`, with at most 500 characters each. They are never in a mail",
  examples: [{ plan: "gold" }],
};

const disabled =
  "Whether it takes and sends no mail: mail to it is refused (550), and so are its sends. Its mail can be read, and what was accepted before still goes out";

/** The field of a change that sets how long mail is kept. */
export const retentionDays = Type.Optional(
  nullable(Type.Integer({ minimum: 1, maximum: 3650 }), {
    description:
      "Days after which mail is removed for good, with its attachments, events and empty threads; null: no limit of its own. The fewest days of inbox, account and service count",
    error: "must be null or a whole number from 1 to 3650",
    examples: [90],
  }),
);

export const NewInbox = named(
  "NewInbox",
  Type.Object(
    {
      externalId: alsoNamed(
        "external_id",
        Type.Optional(
          text({
            ...externalId,
            description: "Your own id for its owner, repeated in events as `external_id`; need not be unique",
          }),
        ),
      ),
      username: Type.Optional(
        text({
          max: 255,
          description:
            "The part of the address before the @: 3 to 30 of a-z, 0-9, dot and hyphen; at an own domain 1 to 64, also with underscores",
          examples: ["ada"],
        }),
      ),
      domain: Type.Optional(
        text({
          max: 255,
          description:
            "The domain of the address: a verified domain of the account, or a shared one (default: the `mailDomain` of the account)",
          examples: [examples.domain],
        }),
      ),
      mailboxName: Type.Optional(
        text({ max: 255, description: "Another name for `username`: give one of them", examples: ["ada"] }),
      ),
      displayName,
      metadata: Type.Optional(texts(metadata)),
      aliases: Type.Optional(
        Type.Array(text({ max: 320, examples: ["sales"] }), {
          maxItems: mostAliases,
          description:
            "Its other addresses, at the same domain, each as a `username` or a whole address. Each counts for the inboxes of a day",
          examples: [["sales"]],
        }),
      ),
      disabled: Type.Optional(Type.Boolean({ default: false, description: disabled })),
      expiresAt,
      ttlSeconds: alsoNamed(
        "ttl_seconds",
        Type.Optional(
          Type.Integer({
            minimum: 60,
            maximum: 31_536_000,
            description: "Instead of `expiresAt`: how long the inbox lasts",
            examples: [3600],
          }),
        ),
      ),
      retentionDays: alsoNamed("retention_days", retentionDays),
      sendPolicy,
      approvers,
      searchWords,
    },
    {
      description: "The new inbox. All fields are optional",
      examples: [{ username: "ada", externalId: examples.externalId }],
    },
  ),
);

export const InboxChange = named(
  "InboxChange",
  Type.Object(
    {
      externalId: alsoNamed(
        "external_id",
        Type.Optional(
          nullable(text(externalId), {
            description: "Your own id for its owner; null for none. Earlier events of the inbox show it too",
            error: "must be null or a string of 1 to 255 characters",
            examples: [examples.externalId],
          }),
        ),
      ),
      retentionDays: alsoNamed("retention_days", retentionDays),
      sendPolicy,
      displayName,
      metadata: Type.Optional(
        textsPatch({
          description:
            "Changes these keys, and keeps the others. Null removes a key; null in place of the object removes all",
          examples: [{ plan: "gold", note: null }],
        }),
      ),
      disabled: Type.Optional(
        nullable(Type.Boolean({ examples: [true] }), {
          description: `${disabled}. Null: false`,
          error: "must be null or a boolean",
        }),
      ),
      expiresAt,
      approvers,
      searchWords,
    },
    { description: "The changes. Missing fields stay as they are", examples: [{ retentionDays: 90 }] },
  ),
);

export const InboxPage = named(
  "InboxPage",
  Type.Object(
    {
      data: Type.Array(InboxShape, { description: "Inboxes, newest first" }),
      total: totalCount("How many inboxes there are in all"),
      nextCursor: nextCursor(),
    },
    { description: "A page of inboxes, and how many there are in all" },
  ),
);

export const InboxQuery = Type.Object({
  ...pageQuery(),
  externalId: alsoNamed(
    "external_id",
    Type.Optional(text({ ...externalId, description: "Only inboxes with this `externalId`" })),
  ),
  address: Type.Optional(
    text({
      min: 1,
      max: 320,
      description:
        "Only the inbox with this address or alias, which may have a `+tag`. At the `mailDomain` of the account, the part before the @ is enough",
      examples: [examples.address],
    }),
  ),
  domain: Type.Optional(
    text({ min: 1, max: 255, description: "Only inboxes with addresses at this domain", examples: [examples.domain] }),
  ),
  cursor: Type.Optional(cursorParameter()),
});

type Fields = Readonly<Record<string, unknown>>;

/** Makes the function that finds the faults that a schema cannot express. */
export function faultsOfInbox({ now, mailDomain }: Pick<Deps, "now" | "mailDomain">) {
  return (fields: Fields): Fault[] => [
    ...faultsOfNames(fields),
    ...faultsOfEnd(fields, now()),
    ...faultsOfApprovers(fields.approvers, mailDomain),
  ];
}

function faultsOfEnd({ expiresAt: end, ttlSeconds }: Fields, now: Date): Fault[] {
  if (typeof end !== "string") return [];
  const at = parseInstant(end);
  const detail = at === undefined ? `must be an RFC 3339 date-time of ${yearsOfInstants}` : "must be in the future";
  return [
    ...(at === undefined || at <= now ? [{ pointer: "#/expiresAt", detail }] : []),
    ...(ttlSeconds === undefined ? [] : [{ pointer: "#/ttlSeconds", detail: "must be left out with `expiresAt`" }]),
  ];
}

function faultsOfNames({ displayName: name, metadata: given }: Fields): Fault[] {
  const faults = isTextsPatch(given) ? faultsOfMetadata(given) : [];
  if (typeof name === "string" && !isDisplayName(name))
    faults.push({ pointer: "#/displayName", detail: displayNameRule });
  return faults;
}

export function toInbox(inbox: Inbox, mailDomain: string) {
  const { id, username, externalId, createdAt, unreadCount, lastMessageAt, retentionDays, sendPolicy } = inbox;
  return {
    id,
    address: inboxAddress(username, mailDomain),
    externalId,
    createdAt: createdAt.toISOString(),
    unreadThreads: unreadCount,
    lastMessageAt: lastMessageAt?.toISOString() ?? null,
    retentionDays,
    sendPolicy,
    displayName: inbox.displayName,
    metadata: { ...inbox.metadata },
    aliases: inbox.aliases.map((alias) => inboxAddress(alias, mailDomain)),
    disabled: inbox.disabled,
    expiresAt: inbox.expiresAt?.toISOString() ?? null,
    updatedAt: (inbox.updatedAt ?? createdAt).toISOString(),
    approvers: inbox.approvers,
    searchWords: inbox.searchWords,
  };
}
