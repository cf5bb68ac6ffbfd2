import { type Static, Type } from "@sinclair/typebox";
import { autoSubmittedValues } from "../../../domain/automated.ts";
import type { Fault } from "../../../domain/errors.ts";
import { labelsOf } from "../../../domain/labels.ts";
import { faultsOfMetadata } from "../../../domain/metadata.ts";
import type { ReadHeaders } from "../../../domain/read-headers.ts";
import type { AskedAttachment } from "../../../domain/send/attachment-words.ts";
import { bodyFormats } from "../../../domain/send/body-format.ts";
import { type AskedTogether, faultsOfCombination } from "../../../domain/send/combinations.ts";
import { readCustomHeaders } from "../../../domain/send/custom-headers.ts";
import { displayNameRule, isDisplayName } from "../../../domain/send/recipients/display-name.ts";
import { type ReadRecipients, type RecipientRules, readRecipients } from "../../../domain/send/recipients/entries.ts";
import type { SendRequest } from "../../../domain/send/send.ts";
import { faultsOfUnsubscribe } from "../../../domain/send/unsubscribing.ts";
import { parseSendAddress } from "../../../standards/address.ts";
import { parseInstant } from "../../../standards/instant.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import type { FieldsRead } from "../../judging/faults.ts";
import { alsoNamed } from "../../judging/known-fields.ts";
import { faultsOfLabels, labelsField } from "../../shell/labels-field.ts";
import { nullable, oneOf, text } from "../../shell/models.ts";
import { isTexts, texts } from "../../shell/texts.ts";
import { faultsOfAttachments, fileFields } from "./attachment-fields.ts";
import { emailAddress } from "./email-address.ts";
import { isEntries, recipientEntries } from "./recipient-entries.ts";

export const newEmail = (mailDomain: string) =>
  named(
    "NewEmail",
    Type.Object(
      {
        ...coreFields(mailDomain),
        ...furtherFields(mailDomain),
        ...fileFields,
        ...timeFields,
        ifUnanswered: Type.Optional(
          Type.Boolean({
            default: false,
            description:
              "With `readUpToMessageId`: sends only if no outbound message that did not fail stands behind that message in the thread. Else `answered_meanwhile`. Of two such replies at once, one is sent",
          }),
        ),
        labels: labelsField("Labels for the thread"),
        unsubscribe: Type.Optional(
          Type.Boolean({
            default: false,
            description:
              "Adds header fields by which the recipient unsubscribes from this inbox with one click (RFC 8058). For a mail to one recipient. `unsubscribe_unavailable` unless `BASE_URL` is https and a DKIM key signs mail from the domain of the inbox",
          }),
        ),
      },
      {
        description: "An email to send: a new one, or with `threadId` a reply",
        examples: [
          { to: examples.sender, subject: examples.subject, body: examples.answer },
          { to: examples.sender, threadId: examples.threadId, body: examples.answer },
        ],
      },
    ),
  );

export const sendAtField = Type.Optional(
  text({
    description:
      "When to send it, at most 366 days ahead, with an offset; a time that has passed means at once. Until then it is a scheduled draft: `POST /v1/messages/{id}/cancel` cancels it, `PATCH /v1/drafts/{id}` changes it. Limits count when it is sent; a mail that they delay for a day fails",
    examples: ["2027-01-15T09:00:00+01:00"],
  }),
);

/** The fields of sending later. */
const timeFields = {
  sendAt: sendAtField,
  unlessReplied: Type.Optional(
    Type.Boolean({
      default: false,
      description:
        "With `sendAt`, in a thread: cancels it (reason `replied`) if mail comes into the thread before it is sent",
    }),
  ),
};

/** The first half of the fields, in the order of the document. */
function coreFields(mailDomain: string) {
  return {
    to: Type.Optional(
      recipientEntries({
        description:
          "One address of at most 254 octets, or several, each alone or with a name: `Jane Doe <jane@example.com>` or `{address, name}`. Optional in a reply, which then goes to the sender of the answered message",
        examples: [examples.sender],
        atLeast: 1,
      }),
    ),
    subject: Type.Optional(
      text({
        min: 1,
        max: 998,
        pattern: "^[^\\r\\n]*$",
        error: "must be 1 to 998 characters without line breaks",
        description: "Required without `threadId`. Default in a thread: `Re: ` and the thread's subject",
        examples: [examples.subject],
      }),
    ),
    body: Type.Optional(
      text({
        min: 1,
        max: 100_000,
        description:
          "Required unless a message is forwarded. Plain text or HTML, which is detected unless `bodyFormat` is given",
        examples: [examples.answer],
      }),
    ),
    bodyHtml: Type.Optional(
      text({
        min: 1,
        max: 500_000,
        description: "Only when the two versions must differ; `body` is then plain text",
        examples: [`<p>${examples.answer}</p>`],
      }),
    ),
    threadId: alsoNamed(
      "thread_id",
      Type.Optional(text({ description: "Thread of this inbox to reply in", examples: [examples.threadId] })),
    ),
    includeQuote: Type.Optional(
      Type.Boolean({
        default: true,
        description:
          "With `threadId`: appends a quote of the answered message. If nobody in `to` or `cc` wrote or got the last message, the quote is the last message that one of them wrote or got, or none",
      }),
    ),
    replyTo: Type.Optional(
      emailAddress(mailDomain, {
        description: "Where replies go. On the free plan only one of your own inboxes",
        examples: [examples.address],
      }),
    ),
    readUpToMessageId: Type.Optional(
      text({
        description:
          "With `threadId`: the last message that you have seen. It is answered and quoted; without it, the last of the thread. Newer inbound mail keeps the thread unread",
        examples: [examples.messageId],
      }),
    ),
    autoSubmitted: Type.Optional(
      oneOf(autoSubmittedValues, {
        description:
          "Marks the mail as written by a program (`Auto-Submitted`, RFC 3834), on its own or as a reply. Other programs then do not answer it; help desks may ignore it",
        examples: ["auto-replied"],
      }),
    ),
    ignoreLoop: Type.Optional(
      Type.Boolean({
        default: false,
        description: "With `threadId`: sends even if `loop_detected` would refuse it",
      }),
    ),
  };
}

/** The second half of the fields. */
function furtherFields(mailDomain: string) {
  return {
    cc: Type.Optional(
      recipientEntries({ description: "Visible further recipients", examples: [["joe@example.com"]], atLeast: 0 }),
    ),
    bcc: Type.Optional(
      recipientEntries({
        description: "Hidden recipients",
        examples: [["archive@example.com"]],
        atLeast: 0,
      }),
    ),
    fromName: Type.Optional(
      nullable(text({ examples: ["Ada"] }), {
        description:
          "The sender's name: 1 to 100 characters, none of `@<>`. Default: the `displayName` of the inbox. Null: no name",
      }),
    ),
    fromAddr: Type.Optional(
      emailAddress(mailDomain, {
        description:
          "The address of the inbox or an alias of it, with or without a `+tag`. Default: in a reply, the alias that the answered message came to; else the address of the inbox",
        examples: [examples.address],
      }),
    ),
    headers: Type.Optional(
      texts({
        description:
          "Further header fields, at most 20: names that begin with `X-`, and `List-Unsubscribe`, `List-Unsubscribe-Post`, `List-Id`, `Auto-Submitted`, `Importance`, `Priority`, `Feedback-ID`, `Precedence`",
        examples: [{ "X-Order": "4711" }],
      }),
    ),
    metadata: Type.Optional(
      texts({
        description:
          "Your own data about the message, at most 20 entries. They are in the message and its events, never in the mail",
        examples: [{ order: "4711" }],
      }),
    ),
    bodyFormat: Type.Optional(
      oneOf(bodyFormats, {
        default: "auto",
        description:
          "The format of `body`. `text` is never detected as HTML. `markdown` (CommonMark with tables and strikethrough) is converted to HTML, and is also the plain text",
        examples: ["markdown"],
      }),
    ),
    replyToMessageId: Type.Optional(
      text({
        description: "The message of this inbox to answer, instead of `threadId`",
        examples: [examples.messageId],
      }),
    ),
    replyAll: Type.Optional(
      Type.Boolean({
        default: false,
        description: "In a reply without `to`: sends it to all addresses of the answered message except this inbox",
      }),
    ),
  };
}

export type NewEmail = Static<ReturnType<typeof newEmail>>;

/** A requested email, with its attachments as the caller gave them. */
export interface ReadEmail {
  mail: Omit<SendRequest, "account" | "inboxId" | "idempotencyKey">;
  attachments: readonly AskedAttachment[] | undefined;
}

/**
 * Reads an email, and finds the faults that a schema cannot: between fields, and in addresses, headers, attachments,
 * metadata and the name.
 */
export function readEmail(
  fields: Readonly<Record<string, unknown>>,
  rules: EmailRules,
  faultsTogether: (asked: AskedTogether) => Fault[] = faultsOfCombination,
): FieldsRead<ReadEmail> {
  // The schema reports fields of the wrong type.
  const asked = fields as NewEmail;
  const { to, cc, bcc, attachments, metadata, fromName, labels } = asked;
  const areEntries = [to, cc, bcc].every((value) => value === undefined || isEntries(value));
  const { recipients, faults: ofRecipients } = readRecipients(areEntries ? { to, cc, bcc } : {}, rules);
  const ownHeaders = isTexts(asked.headers) ? asked.headers : undefined;
  const { headers, faults: ofHeaders } = readCustomHeaders(ownHeaders, {
    autoSubmitted: asked.autoSubmitted,
    unsubscribe: asked.unsubscribe,
  });
  const faults = [
    ...faultsTogether(asked),
    ...ofRecipients,
    ...ofHeaders,
    ...faultsOfAttachments(attachments),
    ...faultsOfUnsubscribe(asked.unsubscribe, recipients),
    ...faultsOfLabels("labels", labels),
    ...faultsOfSendAt(asked.sendAt, rules.now()),
  ];
  if (isTexts(metadata)) faults.push(...faultsOfMetadata(metadata));
  if (typeof fromName === "string" && !isDisplayName(fromName)) {
    faults.push({ pointer: "#/fromName", detail: displayNameRule });
  }
  return { faults, value: () => ({ mail: requestedMail(asked, { recipients, headers }, rules), attachments }) };
}

export interface EmailRules extends RecipientRules {
  now: () => Date;
}

/** The faults of a time to send. The schema reports one that is no text. */
export function faultsOfSendAt(sendAt: unknown, now: Date): Fault[] {
  if (typeof sendAt !== "string") return [];
  const at = isDateTime(sendAt) ? parseInstant(sendAt) : undefined;
  const isGood = at !== undefined && at.getTime() - now.getTime() <= mostAheadMs;
  return isGood ? [] : [{ pointer: "#/sendAt", detail: sendAtRule }];
}

const sendAtRule = "must be a date and time with an offset, such as 2027-01-15T09:00:00+01:00, at most 366 days ahead";
const mostAheadMs = 366 * 86_400_000;

/** Whether a text is more than a day. */
function isDateTime(value: string): boolean {
  return value.length > "2027-01-15".length;
}

/** The email of a body without faults. */
function requestedMail(
  body: NewEmail,
  { recipients, headers }: Pick<ReadRecipients, "recipients"> & Pick<ReadHeaders, "headers">,
  { mailDomain }: RecipientRules,
): ReadEmail["mail"] {
  const wire = (address: string | undefined) => (address === undefined ? undefined : wireAddress(address, mailDomain));
  const metadata = body.metadata ?? {};
  return {
    recipients,
    replyTo: wire(body.replyTo),
    subject: body.subject,
    body: body.body,
    bodyHtml: body.bodyHtml,
    bodyFormat: body.bodyFormat,
    threadId: body.threadId,
    includeQuote: body.includeQuote ?? true,
    readUpToMessageId: body.readUpToMessageId,
    replyToMessageId: body.replyToMessageId,
    replyAll: body.replyAll,
    ifUnanswered: body.ifUnanswered,
    forwardOf: body.forwardOf,
    forwardAs: body.forwardAs,
    includeAttachments: body.includeAttachments,
    fromName: body.fromName,
    fromAddr: wire(body.fromAddr),
    headers: headers.length === 0 ? undefined : headers,
    metadata: Object.keys(metadata).length === 0 ? undefined : metadata,
    autoSubmitted: body.autoSubmitted,
    ignoreLoop: body.ignoreLoop === true ? true : undefined,
    unsubscribe: body.unsubscribe,
    labels: body.labels === undefined ? undefined : labelsOf(body.labels),
    sendAt: body.sendAt === undefined ? undefined : parseInstant(body.sendAt),
    unlessReplied: body.unlessReplied,
  };
}

/** The address as SMTP has it. The schema has checked it. */
function wireAddress(address: string, mailDomain: string): string {
  const parsed = parseSendAddress(address, mailDomain);
  if (parsed === undefined) throw new Error("Cannot send: an address that passed its schema cannot be parsed");
  return parsed;
}
