import { type Static, Type } from "@sinclair/typebox";
import { type Approval as ApprovalRow, approvalDecisions, approvalReasons } from "../../../domain/send/approval.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { instant, nullable, oneOf } from "../../shell/models.ts";

/** The field of an answer that says why a mail waits for a person. */
export function reasonsShown() {
  return Type.Array(oneOf(approvalReasons), {
    description:
      "Why a person must approve it: `policy` asks for all mail, `new_recipient` for mail to somebody who is not known",
    examples: [["new_recipient"]],
  });
}

export const approvalFields = {
  reasons: reasonsShown(),
  newRecipients: Type.Array(Type.String({ examples: [examples.sender] }), {
    description: "The recipients that the inbox does not know",
  }),
  requestedAt: instant({ description: "When it began to wait" }),
  expiresAt: instant({ description: "When it expires if nobody decides" }),
  decision: nullable(oneOf(approvalDecisions), { description: "Null while it waits", examples: [null] }),
  decidedBy: nullable(
    Type.Object({
      key: Type.Optional(Type.String({ description: "The key that decided", examples: [examples.keyId] })),
      address: Type.Optional(Type.String({ description: "The approver who decided by a link" })),
    }),
    { description: "Who decided; null for nobody", examples: [null] },
  ),
  decidedAt: nullable(instant({ examples: [examples.receivedAt] }), {
    description: "When it was decided",
    examples: [null],
  }),
  reason: nullable(Type.String({ examples: ["Not before the price is final"] }), {
    description: "The reason that was given for a rejection",
    examples: [null],
  }),
  edited: Type.Boolean({
    description: "Whether somebody else than its maker changed it while it waited",
    examples: [false],
  }),
  approvedVersion: nullable(Type.Integer({ examples: [1] }), {
    description: "The version that was approved. Another one must be approved anew",
    examples: [null],
  }),
};

export const Approval = named(
  "Approval",
  Type.Object(approvalFields, { description: "The request for the approval of a person, and the decision" }),
);

export function toApproval({ reasons, newRecipients, ...approval }: ApprovalRow): Static<typeof Approval> {
  return { reasons: [...reasons], newRecipients: [...newRecipients], ...approval };
}
