import { Type } from "@sinclair/typebox";
import { failureReasons, type StoredFailure } from "../../../domain/outcome.ts";
import { bounceTypes } from "../../../domain/reports/report.ts";
import { recipientTypes } from "../../../domain/send/recipients/entries.ts";
import type { RecipientOutcome } from "../../../domain/send/recipients/recipient-outcome.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { nullable, oneOf } from "../../shell/models.ts";
import { Delivery } from "./report-shapes.ts";

export const Failure = named(
  "Failure",
  Type.Object(
    {
      code: nullable(Type.Integer({ examples: [550] }), {
        description: "The code of the SMTP reply, if a server answered",
      }),
      enhancedCode: nullable(Type.String({ examples: ["5.1.1"] }), {
        description: "Enhanced status code (RFC 3463)",
      }),
      message: Type.String({ description: "The text of the answer", examples: ["No such user"] }),
      reason: oneOf(failureReasons, {
        description: "`refused` permanently, or `timed_out` after temporary failures",
        examples: ["refused"],
      }),
      type: nullable(oneOf([...bounceTypes, "suppressed"], { examples: ["hard"] }), {
        description:
          "The kind of failure, as for bounces. `hard`: no such address; `soft`: a temporary fault; `block`: our server or the content was rejected; `unknown`: no known cause. `suppressed`: the recipient is suppressed. Null if no server answered",
      }),
    },
    { description: "Why a message could not be delivered" },
  ),
);

export function toFailure(failure: StoredFailure | null) {
  return failure === null ? null : shownFailure(failure);
}

export function shownFailure({ code, enhancedCode, message, reason, type }: StoredFailure) {
  return { code, enhancedCode, message, reason, type: type ?? null };
}

/** The fields of a recipient before its status, which differs between messages and events. */
export const addressee = {
  address: Type.String({ description: "Address of the recipient", examples: [examples.sender] }),
  name: nullable(Type.String({ examples: [examples.senderName] }), {
    description: "The name in the mail",
    examples: [null],
  }),
  type: oneOf(recipientTypes, { description: "The field that has this recipient", examples: ["to"] }),
};

export const Recipient = named(
  "Recipient",
  Type.Object(
    {
      ...addressee,
      status: oneOf(["pending", "sent", "failed"], {
        description: "Status of this copy",
        examples: ["sent"],
      }),
      providerMessageId: nullable(Type.String({ examples: [examples.providerMessageId] }), {
        description: "The relay's id of this copy",
      }),
      failure: nullable(Failure, { description: "Why this copy could not be delivered", examples: [null] }),
      delivery: nullable(Delivery, {
        description: "The worst report about this copy; null until there is one",
        examples: [null],
      }),
    },
    { description: "A recipient of a message, and the status of its copy" },
  ),
);

export function toRecipient(recipient: RecipientOutcome) {
  const { address, name, type, status, providerMessageId, failure, delivery = null } = recipient;
  return { address, name, type, status, providerMessageId, failure: toFailure(failure), delivery };
}
