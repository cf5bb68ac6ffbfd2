import { Type } from "@sinclair/typebox";
import type { Reach } from "../../../domain/access/access.ts";
import { Refusal } from "../../../domain/errors.ts";
import { quarantineReasons } from "../../../domain/policy.ts";
import { inContractOrder } from "../../../domain/receive/authentication.ts";
import type { Deps } from "../../../flows/deps.ts";
import { deleteQuarantined, ownedQuarantined, pageQuarantine } from "../../../flows/receive/manage-quarantine.ts";
import type { ReleaseMail } from "../../../flows/receive/release-mail.ts";
import { attachmentDisposition } from "../../../standards/content-disposition.ts";
import type { QuarantinedMail as StoredQuarantinedMail } from "../../../store/mail/quarantine.ts";
import { examples } from "../../document/examples.ts";
import { alsoNamed } from "../../judging/known-fields.ts";
import { api } from "../../shell/app.ts";
import { whetherThere } from "../../shell/described-operation.ts";
import { nothing, oneOf, pageQuery, text } from "../../shell/models.ts";
import { operation } from "../../shell/operation.ts";
import { cursorParameter, cursorRow } from "../../shell/parameters.ts";
import { ownedInbox } from "../account/inboxes.ts";
import { toSpam } from "./authentication-shape.ts";
import { QuarantinedMail, QuarantinePage, ReleasedMail } from "./quarantine-shape.ts";
import { lengthAlone, type StoredBytesDeps, storedBytes, untrustedHeaders } from "./stored-bytes.ts";

export interface QuarantineDeps extends Deps, StoredBytesDeps {
  releaseMail: ReleaseMail;
}

const Query = Type.Object({
  inbox_id: alsoNamed(
    "inboxId",
    Type.Optional(text({ description: "Only mail to this inbox", examples: [examples.inboxId] })),
  ),
  reason: Type.Optional(oneOf(quarantineReasons, { description: "Only mail that was blocked for this reason" })),
  limit: pageQuery().limit,
  cursor: Type.Optional(cursorParameter()),
});

const path = { id: { description: "Id of the quarantined mail", example: examples.quarantinedId } };

/** The mail of an account that rules and policies have blocked. */
export function quarantine(deps: QuarantineDeps) {
  const whenRefused = whetherThere((reach: Reach, id: string) => ownedQuarantined(deps, reach, id));
  return api("/v1/quarantine", "Quarantine")
    .get(
      "",
      async ({ account, query: { inbox_id: inboxId, reason, limit, cursor } }) => {
        if (inboxId !== undefined) await ownedInbox(deps, account.reach, inboxId);
        const question = ["quarantine", account.id, inboxId, reason];
        const last = cursor === undefined ? undefined : cursorRow(cursor, question, "none", "list quarantine");
        if (last instanceof Refusal) throw last;
        const asked = { reach: account.reach, inboxId, reason, limit, before: last?.id, question };
        const page = await pageQuarantine(deps, asked);
        return { data: page.data.map(toQuarantined), nextCursor: page.nextCursor };
      },
      operation({
        summary: "List quarantine",
        access: "full",
        description: "Mail that rules and policies have blocked, newest first.",
        query: Query,
        answers: { 200: QuarantinePage },
        refuses: ["not_found"],
      }),
    )
    .get(
      "/:id",
      async ({ account, params }) => toQuarantined(await ownedQuarantined(deps, account.reach, params.id)),
      operation({
        summary: "Get quarantined mail",
        access: "full",
        description: "One quarantined mail. Its whole text is in the raw mail.",
        path,
        whenRefused,
        answers: { 200: QuarantinedMail },
      }),
    )
    .get(
      "/:id/raw",
      async ({ account, params, request }) =>
        rawAnswer(deps, await ownedQuarantined(deps, account.reach, params.id), request.method === "HEAD"),
      operation({
        summary: "Download raw quarantined mail",
        access: "full",
        description: "The mail as it came, byte for byte. Treat it as hostile.",
        path,
        whenRefused,
        answers: {
          200: Type.String({
            description: "The mail",
            contentMediaType: "message/rfc822",
            examples: ["Subject: Your order\r\n\r\nWhere is it?\r\n"],
          }),
        },
      }),
    )
    .post(
      "/:id/release",
      ({ account, actor, params }) => deps.releaseMail({ ...account.reach, actor }, params.id),
      operation({
        summary: "Release quarantined mail",
        access: "full",
        description:
          "Makes it a message of its inbox, dated now, with the event `message.received`. If it was released before, the answer has the same ids. The quarantined mail stays until it expires.",
        path,
        whenRefused,
        answers: { 200: ReleasedMail },
      }),
    )
    .delete(
      "/:id",
      async ({ account, actor, params, set }) => {
        await deleteQuarantined(deps, { ...account.reach, actor }, params.id);
        set.status = 204;
      },
      operation({
        summary: "Delete quarantined mail",
        access: "full",
        description: "Removes it with its bytes. A message that it became stays.",
        path,
        whenRefused,
        answers: { 204: nothing("Deleted") },
      }),
    );
}

async function rawAnswer(
  deps: QuarantineDeps,
  { id, sourceId, sizeBytes }: StoredQuarantinedMail,
  isHead: boolean,
): Promise<Response> {
  const headers = {
    "content-type": "message/rfc822",
    "content-disposition": attachmentDisposition(`${id}.eml`),
    ...untrustedHeaders,
  };
  if (isHead) return new Response(lengthAlone(sizeBytes), { headers });
  const whole = { first: 0, last: sizeBytes - 1 };
  const stored = { sourceId, part: 0, sizeBytes, resource: "quarantined_mail" } as const;
  return new Response(await storedBytes(deps, deps.db.api, stored, whole), { headers });
}

function toQuarantined(mail: StoredQuarantinedMail) {
  return {
    id: mail.id,
    inboxId: mail.inboxId,
    reason: mail.reason,
    ruleId: mail.ruleId,
    fromAddr: mail.fromAddr,
    fromName: mail.fromName,
    envelopeFrom: mail.envelopeFrom,
    toAddr: mail.toAddr,
    subject: mail.subject,
    preview: mail.preview,
    sizeBytes: mail.sizeBytes,
    authentication: mail.authentication && inContractOrder(mail.authentication),
    spam: mail.spam && toSpam(mail.spam),
    receivedAt: mail.receivedAt.toISOString(),
    expiresAt: mail.expiresAt.toISOString(),
    messageId: mail.messageId,
  };
}
