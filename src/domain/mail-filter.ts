import { asciiDomain, splitAddress } from "../standards/address.ts";

/** The conditions for the mail that a wait returns. An undefined condition is not checked. */
export interface MailFilter {
  /** A whole address, `@` and a domain (with its subdomains), or a part of the sender's address or name. */
  from: string | undefined;
  /** The address to which the mail was sent, with its tag. */
  to: string | undefined;
  /** A part of the subject. */
  subject: string | undefined;
  threadId: string | undefined;
  hasAttachment: boolean;
  automated: boolean | undefined;
}

/** The facts about a mail that a filter checks. */
export interface MailHead {
  threadId: string;
  fromAddr: string;
  fromName: string | null;
  toAddr: string;
  subject: string;
  attachmentCount: number;
  isAutomated: boolean;
}

/** Returns a function that is true for mail that passes the filter. */
export function mailJudge(filter: MailFilter): (head: MailHead) => boolean {
  const { threadId, hasAttachment, automated } = filter;
  const isFrom = filter.from === undefined ? undefined : senderJudge(filter.from);
  const to = filter.to === undefined ? undefined : comparableAddress(filter.to);
  const subject = filter.subject === undefined ? undefined : folded(filter.subject);
  return (head) => {
    if (threadId !== undefined && head.threadId !== threadId) return false;
    if (hasAttachment && head.attachmentCount === 0) return false;
    if (automated !== undefined && head.isAutomated !== automated) return false;
    if (to !== undefined && comparableAddress(head.toAddr) !== to) return false;
    if (isFrom !== undefined && !isFrom(head)) return false;
    return subject === undefined || folded(head.subject).includes(subject);
  };
}

function senderJudge(from: string): (head: Pick<MailHead, "fromAddr" | "fromName">) => boolean {
  if (from.startsWith("@") && from.length > 1) {
    const domain = comparableDomain(from.slice(1));
    return ({ fromAddr }) => {
      const own = comparableDomain(splitAddress(fromAddr)?.domain ?? "");
      return own === domain || own.endsWith(`.${domain}`);
    };
  }
  if (splitAddress(from) !== undefined) {
    const address = comparableAddress(from);
    return ({ fromAddr }) => comparableAddress(fromAddr) === address;
  }
  const part = folded(from);
  return ({ fromAddr, fromName }) => folded(fromAddr).includes(part) || folded(fromName ?? "").includes(part);
}

function comparableAddress(address: string): string {
  const parts = splitAddress(address);
  return parts === undefined ? folded(address) : `${folded(parts.local)}@${comparableDomain(parts.domain)}`;
}

function comparableDomain(domain: string): string {
  return asciiDomain(domain) ?? domain.toLowerCase();
}

/** The text for comparison: in lower case, with compatible letter forms (such as full-width letters) made equal. */
function folded(text: string): string {
  return text.normalize("NFKC").toLowerCase();
}
