import { worstOf } from "./delivery.ts";
import type { RecipientReport } from "./report.ts";
import type { KnownMessage } from "./reported-message.ts";

/** The report about one recipient of a message. If `recipient` is "", it is about the message as a whole. */
export interface ReportedRecipient {
  recipient: string;
  report: RecipientReport;
  /** The index of the report in the list, by which its ids are found. */
  index: number;
}

/**
 * Matches reports to the recipients of the message. A report that names another address has no effect on that address. If no report names
 * a recipient of the message, the worst report counts for its only recipient or, if there are several, for the message as a whole.
 */
export function reportedRecipients(message: KnownMessage, reports: readonly RecipientReport[]): ReportedRecipient[] {
  const ours = new Map(message.recipients.map(({ address }) => [address.toLowerCase(), address]));
  const all = reports.map((report, index) => ({ report, index, kind: report.kind, type: report.type }));
  const named = all.flatMap((one) => {
    const recipient = ourOwn(ours, one.report.originalRecipient) ?? ourOwn(ours, one.report.finalRecipient);
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
export function hasSeveralRecipients({ recipients }: Pick<KnownMessage, "recipients">): boolean {
  return new Set(recipients.map(({ address }) => address.toLowerCase())).size > 1;
}

function ourOwn(ours: ReadonlyMap<string, string>, address: string | undefined): string | undefined {
  if (address === undefined) return undefined;
  return ours.get(address.toLowerCase()) ?? ours.get(withoutXtext(address).toLowerCase());
}

/** Decodes xtext (RFC 3461 §4), because some servers return the ORCPT address encoded as it was sent. */
function withoutXtext(address: string): string {
  return address.replace(/\+([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
}
