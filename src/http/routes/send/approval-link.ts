import { Type } from "@sinclair/typebox";
import { type MakeLinkDeps, makeApprovalLink } from "../../../flows/send/make-approval-link.ts";
import { ownedDraft } from "../../../flows/send/write-draft.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { api } from "../../shell/app.ts";
import { whetherThere } from "../../shell/described-operation.ts";
import { idPath, instant } from "../../shell/models.ts";
import { operation } from "../../shell/operation.ts";

const ApprovalLink = named(
  "ApprovalLink",
  Type.Object(
    {
      url: Type.String({
        description: "The page. Whoever has it decides in place of your key, so give it only to that person",
        examples: [`https://mail.example.com/approve/${examples.approvalToken}`],
      }),
      expiresAt: instant({ description: "When it expires: with the approval", examples: ["2026-03-24T10:05:00.000Z"] }),
    },
    { description: "A link to approve or reject a mail" },
  ),
);

/** Links by which a person who has no key decides about a mail, such as in a message of a chat. */
export function approvalLink(deps: MakeLinkDeps) {
  return api("/v1/drafts", "Drafts").post(
    "/:id/approval-link",
    async ({ account, actor, params, set }) => {
      set.headers["cache-control"] = "no-store";
      const { url, expiresAt } = await makeApprovalLink(deps, account, actor, params.id);
      return { url, expiresAt: expiresAt.toISOString() };
    },
    operation({
      summary: "Create approval link",
      access: "full",
      description:
        "Makes a link to a page on which a person approves or rejects this version of a mail that waits. It decides in the name of your key, and ends with it. The key that made the draft gets none.",
      path: idPath("draft"),
      whenRefused: whetherThere((reach, id) => ownedDraft(deps, reach, id)),
      answers: { 200: ApprovalLink },
      refuses: ["approval_forbidden", "draft_not_open"],
    }),
  );
}
