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
      code: nullable(Type.Integer({ examples: [550] }), { description: "The SMTP reply, where a server gave one" }),
      enhancedCode: nullable(Type.String({ examples: ["5.1.1"] }), {
        description: "The enhanced status code in it (RFC 3463)",
      }),
      message: Type.String({ description: "What was said", examples: ["No such user"] }),
      reason: oneOf(failureReasons, {
        description: "`refused` for good, or `timed_out` after attempts that were all put off",
        examples: ["refused"],
      }),
      type: nullable(oneOf([...bounceTypes, "suppressed"], { examples: ["hard"] }), {
        description:
          "What kind of answer that was, in the words of bounces: `hard`, there is no such address; `soft`, not now; `block`, because of what we are or sent; `unknown`. `suppressed`: nothing is sent to him. Null where no server answered",
      }),
    },
    { description: "Why a message could not be delivered" },
  ),
);

export function toFailure(failure: StoredFailure | null) {
  if (failure === null) return null;
  const { code, enhancedCode, message, reason, type = null } = failure;
  return { code, enhancedCode, message, reason, type };
}

export const Recipient = named(
  "Recipient",
  Type.Object(
    {
      address: Type.String({ description: "His address", examples: [examples.sender] }),
      name: nullable(Type.String({ examples: [examples.senderName] }), {
        description: "The name that the mail has beside it",
        examples: [null],
      }),
      type: oneOf(recipientTypes, { description: "In which field he was given", examples: ["to"] }),
      status: oneOf(["pending", "sent", "failed"], {
        description: "What has become of his copy so far",
        examples: ["sent"],
      }),
      providerMessageId: nullable(Type.String({ examples: [examples.providerMessageId] }), {
        description: "The relay's own id of his copy",
      }),
      failure: nullable(Failure, { description: "Why his copy could not be delivered", examples: [null] }),
      delivery: nullable(Delivery, {
        description: "What came back about his copy, the worst that was reported; null until something did",
        examples: [null],
      }),
    },
    { description: "One to whom a message goes, and what has become of his copy" },
  ),
);

export function toRecipient(recipient: RecipientOutcome) {
  const { address, name, type, status, providerMessageId, failure, delivery = null } = recipient;
  return { address, name, type, status, providerMessageId, failure: toFailure(failure), delivery };
}
