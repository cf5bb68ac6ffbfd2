import type { Actor } from "../../domain/access/actor.ts";
import { type Closure, refuseSuspended } from "../../domain/access/suspension.ts";
import { Refusal } from "../../domain/errors.ts";
import type { ApprovalClaims } from "../../domain/send/approval-token.ts";
import { listAttachments } from "../../store/mail/attachments.ts";
import { type DraftToApprove, findDraftToApprove } from "../../store/send/drafts-to-approve.ts";
import { type AttachmentLinks, linkedAttachments } from "../read/attachment-links.ts";
import type { ApprovalLinks } from "./approval-links.ts";
import { type ApprovalView, type DecidersDeps, mayStillDecide, shownMail } from "./approval-view.ts";
import { type DecidingDeps, type DraftDecision, decideDraft } from "./decide-draft.ts";

export interface ApprovalPageDeps extends DecidingDeps, DecidersDeps {
  approvalLinks: Pick<ApprovalLinks, "read">;
  links: Pick<AttachmentLinks, "attachmentUrl">;
  closureOf?: ((accountId: string) => Closure | undefined) | undefined;
}

/** The target of a link: a mail that waits in the version of the link, or one that does not wait any more. */
export type Opened = { kind: "waiting"; view: ApprovalView } | { kind: "over"; draft: DraftToApprove; version: number };

/** Opens a link. Undefined if it is wrong or over, or if its approver may not decide any more. */
export async function openApproval(deps: ApprovalPageDeps, token: string): Promise<Opened | undefined> {
  const asked = await askedOf(deps, token);
  if (asked === undefined) return undefined;
  const { draft, claims } = asked;
  if (draft.state !== "awaiting_approval" || draft.version !== claims.version)
    return { kind: "over", draft, version: claims.version };
  const files = await listAttachments(deps.db.api, [draft.id]);
  const view = {
    ...shownMail(draft, deps.mailDomain),
    draft,
    files: await linkedAttachments(deps.links, draft.id, files, deps.now()),
  };
  return { kind: "waiting", view };
}

/**
 * Decides about the mail of a link, in the version that its page has shown. Returns false for a link that is wrong. If somebody else was
 * faster, or if the mail has changed, nothing is decided, and the page of the link says so.
 */
export async function decideByLink(
  deps: ApprovalPageDeps,
  token: string,
  { version, ...decision }: Pick<DraftDecision, "version" | "decision" | "reason">,
  client: Pick<Actor, "ip" | "requestId">,
): Promise<boolean> {
  const asked = await askedOf(deps, token);
  if (asked === undefined) return false;
  const { draft, claims } = asked;
  refuseSuspended(
    deps.closureOf?.(draft.accountId),
    { sends: true, showsAccount: false },
    `${decision.decision} draft`,
  );
  if (version !== claims.version) return true;
  const { accountId, id } = draft;
  const by = claims.approver;
  const actor = { ...actorOf(by), ...client };
  try {
    await decideDraft(deps, { actor, accountId }, { id, version, by, ...decision });
  } catch (error) {
    const isLate = error instanceof Refusal && ["draft_not_open", "version_mismatch"].includes(error.reason);
    if (!isLate) throw error;
  }
  return true;
}

function actorOf(by: ApprovalClaims["approver"]): Pick<Actor, "type" | "id"> {
  if ("address" in by) return { type: "approver", id: by.address };
  return { type: by.key.startsWith("opk_") ? "operator" : "key", id: by.key };
}

async function askedOf(
  deps: ApprovalPageDeps,
  token: string,
): Promise<{ draft: DraftToApprove; claims: ApprovalClaims } | undefined> {
  const claims = await deps.approvalLinks.read(token, deps.now());
  const draft = claims && (await findDraftToApprove(deps.db.api, claims.draftId));
  if (claims === undefined || draft === undefined) return undefined;
  return (await mayStillDecide(deps, claims.approver, draft)) ? { draft, claims } : undefined;
}
