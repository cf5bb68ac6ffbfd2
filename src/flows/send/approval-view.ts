import type { Decider } from "../../domain/send/approval.ts";
import { approversInForce, isApprover } from "../../domain/send/approvers.ts";
import type { Draft } from "../../domain/send/draft.ts";
import { textOfHtml } from "../../mail/html/html.ts";
import { inboxAddress } from "../../standards/address.ts";
import { mayKeyDecide } from "../../store/account/keys.ts";
import type { DraftToApprove } from "../../store/send/drafts-to-approve.ts";
import { type ApproversDeps, isReceivedHere } from "../account/approvers.ts";
import type { Deps } from "../deps.ts";
import type { LinkedAttachment } from "../read/attachment-links.ts";

export interface DecidersDeps extends Pick<Deps, "db" | "now">, ApproversDeps {
  /** The approvers of inboxes that name none. */
  approvers: readonly string[];
}

/** Whether a decider of a link may still decide about a draft. */
export async function mayStillDecide(deps: DecidersDeps, by: Decider, draft: DraftToApprove): Promise<boolean> {
  if ("key" in by) return by.key !== draft.requestedBy && mayKeyDecide(deps.db.api, by.key, draft, deps.now());
  const inForce = approversInForce(draft.approvers, deps.approvers);
  return isApprover(by.address, inForce) && !(await isReceivedHere(deps, by.address));
}

/** A mail that waits, as people see it before they decide. */
export interface ShownMail {
  from: { address: string; name: string | null };
  text: string;
  /** The HTML version as text, if it is not the same text. */
  otherText: string | undefined;
}

export interface ApprovalView extends ShownMail {
  draft: Draft;
  files: readonly LinkedAttachment[];
}

export function shownMail({ content, username, displayName }: DraftToApprove, mailDomain: string): ShownMail {
  const address = content?.composedFrom ?? inboxAddress(username, mailDomain);
  const name = content?.fromName === undefined ? displayName : content.fromName;
  const text = content?.composedText ?? content?.body ?? "";
  const htmlText =
    content?.body !== undefined && content.bodyHtml !== undefined ? textOfHtml(content.bodyHtml) : undefined;
  const isOther = htmlText !== undefined && !isSameText(htmlText, content?.body ?? "");
  return {
    from: { address, name },
    text,
    otherText: isOther ? htmlText : undefined,
  };
}

/** Whether two texts have the same words in the same order. */
function isSameText(one: string, other: string): boolean {
  const words = (text: string) => text.split(/\s+/).filter(Boolean).join(" ");
  return words(one) === words(other);
}
