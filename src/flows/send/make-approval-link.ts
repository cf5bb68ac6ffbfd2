import { transaction } from "../../database/db.ts";
import type { Caller } from "../../domain/access/access.ts";
import type { Actor } from "../../domain/access/actor.ts";
import { refuseOwnDraft } from "../../domain/send/decide-draft.ts";
import { draftNotOpen } from "../../domain/send/draft.ts";
import { audit } from "../audit.ts";
import type { Deps } from "../deps.ts";
import type { ApprovalLinks } from "./approval-links.ts";
import { ownedDraft } from "./write-draft.ts";

export interface MakeLinkDeps extends Deps {
  approvalLinks: Pick<ApprovalLinks, "make">;
}

/** Makes a link with which its holder decides for the key of the caller, as long as that key is in force. */
export async function makeApprovalLink(
  deps: MakeLinkDeps,
  { keyId, reach }: Caller,
  actor: Actor,
  id: string,
): Promise<{ url: string; expiresAt: Date }> {
  const doing = "create approval link";
  const draft = await ownedDraft(deps, reach, id);
  const approver = { key: keyId };
  refuseOwnDraft(draft, approver, doing);
  const { version, state, approval, accountId } = draft;
  if (state !== "awaiting_approval" || approval === null) throw draftNotOpen(doing, draft);
  const expiresAt = new Date(Math.floor(Date.parse(approval.expiresAt) / 1000) * 1000);
  const url = await deps.approvalLinks.make({ draftId: id, version, approver, expiresAt });
  await transaction(deps.db.api, (tx) =>
    audit(tx, deps, deps.now(), {
      action: "draft.link_made",
      accountId,
      actor,
      target: { type: "message", id },
      details: { version, expiresAt },
    }),
  );
  return { url, expiresAt };
}
