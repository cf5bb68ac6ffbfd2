import { Type } from "@sinclair/typebox";
import { quarantineReasons } from "../../../domain/policy.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { instant, nextCursor, nullable, oneOf } from "../../shell/models.ts";
import { Authentication, Spam } from "./authentication-shape.ts";

/** The fields of a quarantined mail. Its event has some of them. */
export const quarantineFields = {
  id: Type.String({ description: "Id of the quarantined mail", examples: [examples.quarantinedId] }),
  inboxId: Type.String({ description: "The inbox that it was sent to", examples: [examples.inboxId] }),
  reason: oneOf(quarantineReasons, {
    description:
      "`rule`: a rule blocks the sender; `dmarc`: it fails the check that its domain asks for; `unauthenticated`: its sender is not proven; `spam`: the filter calls it spam; `unlisted`: no rule allows the sender; `judge`: the operator's judge asked for it",
    examples: ["rule"],
  }),
  ruleId: nullable(Type.String({ examples: [examples.ruleId] }), {
    description: "With `rule`: the rule, even if it is deleted by now",
  }),
  fromAddr: Type.String({ description: "Address in `From`; empty if there is none", examples: [examples.sender] }),
  fromName: nullable(Type.String({ examples: [examples.senderName] }), { description: "Name in `From`" }),
  envelopeFrom: Type.String({
    description: 'The sender in `MAIL FROM` of the delivering server, `""` for a bounce',
    examples: [examples.sender],
  }),
  toAddr: Type.String({ description: "Address that it was sent to", examples: [examples.address] }),
  subject: Type.String({ description: "Empty if it has none", examples: [examples.subject] }),
  preview: Type.String({ description: "The first words of its text", examples: [examples.question] }),
  sizeBytes: Type.Integer({ minimum: 0, description: "Size of the raw mail", examples: [1_234] }),
  authentication: nullable(Authentication, {
    description: "Its sender authentication; null if the sender was not checked",
  }),
  spam: nullable(Spam, { description: "What the operator's spam filter says; null without one" }),
  receivedAt: instant({ description: "When it was received" }),
  expiresAt: instant({ description: "When it is removed", examples: [examples.quarantinedUntil] }),
  messageId: nullable(Type.String({ examples: [examples.messageId] }), {
    description: "The message that it became; null unless it was released",
    examples: [null],
  }),
};

export const QuarantinedMail = named(
  "QuarantinedMail",
  Type.Object(quarantineFields, {
    description: "Mail that a rule or a policy blocked. It is no message, until it is released",
  }),
);

export const QuarantinePage = named(
  "QuarantinePage",
  Type.Object(
    { data: Type.Array(QuarantinedMail, { description: "Quarantined mail, newest first" }), nextCursor: nextCursor() },
    { description: "A page of the quarantine" },
  ),
);

export const ReleasedMail = named(
  "ReleasedMail",
  Type.Object(
    {
      messageId: Type.String({ description: "The message that it became", examples: [examples.messageId] }),
      threadId: Type.String({ description: "Thread of the message", examples: [examples.threadId] }),
    },
    { description: "The message that a quarantined mail became" },
  ),
);
