import type { Fault } from "../errors.ts";
import { Refusal } from "../errors.ts";
import type { CustomHeader } from "../message.ts";
import type { Recipient } from "./recipients/entries.ts";
import type { Send, SendRequest } from "./send.ts";

/** The header fields by which the recipient of a mail unsubscribes with one click (RFC 8058 §3.1). */
export function unsubscribeHeaders(link: string, address: string): CustomHeader[] {
  return [
    { name: "List-Unsubscribe", value: `<${link}>, <mailto:${address}>` },
    { name: "List-Unsubscribe-Post", value: "List-Unsubscribe=One-Click" },
  ];
}

/** The fault of `unsubscribe` for several recipients: each of them would get a link that ends the mail to another one. */
export function faultsOfUnsubscribe(unsubscribe: unknown, recipients: readonly Recipient[]): Fault[] {
  if (unsubscribe !== true || recipients.length <= 1) return [];
  return [{ pointer: "#/unsubscribe", detail: "is for a mail to one recipient alone" }];
}

/** Refuses `unsubscribe` for a reply that would go to several recipients. */
export function refuseUnsubscribeOfSeveral({ unsubscribe }: SendRequest, recipients: readonly Recipient[]): void {
  const faults = faultsOfUnsubscribe(unsubscribe, recipients);
  if (faults.length === 0) return;
  throw new Refusal("validation_error", 'Cannot send: "unsubscribe" is for a mail to one recipient alone', { faults });
}

/** Refuses a mail whose link to unsubscribe would be dead, or would not count, since nothing signs it (RFC 8058 §4). */
export function refuseWithoutUnsubscribe({ request, unsubscribeFields }: Send): void {
  if (request.unsubscribe !== true || unsubscribeFields !== undefined) return;
  const why = "it needs a BASE_URL with https, and a DKIM key for the domain of the sender";
  throw new Refusal("unsubscribe_unavailable", `Cannot send: "unsubscribe" is not available: ${why}`);
}
