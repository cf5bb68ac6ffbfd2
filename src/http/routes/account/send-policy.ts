import { Type } from "@sinclair/typebox";
import { sendPolicies } from "../../../domain/policy.ts";
import { alsoNamed } from "../../judging/known-fields.ts";
import { oneOf } from "../../shell/models.ts";

/** The meanings of the words of `sendPolicy`. */
export const sendPolicyMeanings =
  "`open`: everybody may be written to; `known`: only senders whom the inbox knows, inboxes of the same account, and recipients that an outbound rule allows; `approve_new`: everybody, but a person must approve mail to others than these; `approve_all`: a person must approve all mail; `closed`: nobody. The strictest of account, tenant, inbox and key holds; where one is `known` and another asks a person, others are refused and all mail is asked for";

/** The field of an answer. `whose` completes "To whom … may send". */
export function sendPolicyShown(whose: string) {
  return oneOf(sendPolicies, { description: `To whom ${whose} may send. ${sendPolicyMeanings}`, examples: ["open"] });
}

/** The field of a change. */
export function sendPolicyChange(whose: string) {
  return alsoNamed("send_policy", Type.Optional(sendPolicyShown(whose)));
}
