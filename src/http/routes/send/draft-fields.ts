import { Kind, type TObject, type TSchema, Type, TypeRegistry } from "@sinclair/typebox";
import type { Draft } from "../../../domain/send/draft.ts";
import type { Recipient as RecipientEntry, RecipientType } from "../../../domain/send/recipients/entries.ts";
import { named } from "../../document/schema.ts";
import { aliasOf, alsoNamed } from "../../judging/known-fields.ts";
import { newEmail } from "./new-email.ts";

TypeRegistry.Set("Changed", () => true);

/** The body of a change: the fields of an email, each also null. Only their names are checked: the changed email is checked as a whole. */
export function draftChange(mailDomain: string) {
  const { properties } = newEmail(mailDomain) as TObject;
  const fields = Object.entries(properties).map(([name, property]) => [name, changed(property)] as const);
  return named(
    "DraftChange",
    Type.Object(Object.fromEntries(fields), {
      description:
        "The fields to change (RFC 7396): those that are left out stay, null removes one, a list is replaced",
      examples: [{ body: "See you on Monday." }, { sendAt: null }],
    }),
  );
}

function changed({ default: _, ...property }: TSchema): TSchema {
  const { description, examples } = property;
  const schema = {
    anyOf: [property, { type: "null" }],
    [Kind]: "Changed",
    description,
    examples,
  } as unknown as TSchema;
  const alias = aliasOf(property as TSchema);
  const { description: own = "", ...rest } = schema;
  // The description has the alias already.
  return Type.Optional(alias === undefined ? schema : { ...alsoNamed(alias, rest as TSchema), description: own });
}

/** The fields of the request that would make a draft as it is now, without its attachments. */
export function fieldsOfDraft({ content, sendAt }: Pick<Draft, "content" | "sendAt">): Record<string, unknown> {
  if (content === null) return {};
  const {
    recipients,
    headers,
    includeQuote,
    forwardedContentIds: _,
    composedText: __,
    composedFrom: ___,
    ...mail
  } = content;
  const entries = (type: RecipientType) => entriesOf(recipients, type);
  const fields = {
    ...mail,
    to: entries("to"),
    cc: entries("cc"),
    bcc: entries("bcc"),
    includeQuote,
    headers: headers && Object.fromEntries(headers.map(({ name, value }) => [name, value])),
    sendAt: sendAt?.toISOString(),
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function entriesOf(recipients: readonly RecipientEntry[], type: RecipientType) {
  const entries = recipients.flatMap(({ address, name, ...each }) =>
    each.type === type ? [name === undefined ? { address } : { address, name }] : [],
  );
  return entries.length === 0 ? undefined : entries;
}
