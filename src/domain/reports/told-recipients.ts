import { worstOf } from "./delivery.ts";
import type { RecipientTold } from "./report.ts";
import type { KnownMessage } from "./reported-message.ts";

/** What is told of one recipient of ours; of nobody in particular where `recipient` is "". */
export interface ToldOfRecipient {
  recipient: string;
  told: RecipientTold;
  /** Which of those that were told, for its ids. */
  index: number;
}

/**
 * Whom a report is about, of those that we wrote to: who else it names is shown, and never trusted. Where it names none of them
 * the worst counts for the message, which of a message to one is about him.
 */
export function toldOfRecipients(message: KnownMessage, recipients: readonly RecipientTold[]): ToldOfRecipient[] {
  const ours = new Map(addressesOf(message).map((address) => [address.toLowerCase(), address]));
  const all = recipients.map((told, index) => ({ told, index, kind: told.kind, type: told.type }));
  const named = all.flatMap((one) => {
    const recipient = ourOwn(ours, one.told.originalRecipient) ?? ourOwn(ours, one.told.finalRecipient);
    return recipient === undefined ? [] : [{ ...one, recipient }];
  });
  if (named.length > 0) {
    const groups = Map.groupBy(named, ({ recipient, kind }) => `${kind} ${recipient}`);
    return [...groups.values()].flatMap((group) => worstOf(group) ?? []);
  }
  const worst = worstOf(all);
  const only = ours.size === 1 ? ours.values().next().value : undefined;
  return worst === undefined ? [] : [{ ...worst, recipient: only ?? "" }];
}

/** Whether a message went to more than one address; two spellings of one address count once. */
export function hasSeveralRecipients(message: Pick<KnownMessage, "toAddr" | "recipients">): boolean {
  return new Set(addressesOf(message).map((address) => address.toLowerCase())).size > 1;
}

export function addressesOf({ toAddr, recipients }: Pick<KnownMessage, "toAddr" | "recipients">): string[] {
  return recipients.length === 0 ? [toAddr] : recipients.map(({ address }) => address);
}

function ourOwn(ours: ReadonlyMap<string, string>, address: string | undefined): string | undefined {
  if (address === undefined) return undefined;
  return ours.get(address.toLowerCase()) ?? ours.get(withoutXtext(address).toLowerCase());
}

/** Some servers hand ORCPT back as it stood on the wire (RFC 3461 §4). */
function withoutXtext(address: string): string {
  return address.replace(/\+([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
}
