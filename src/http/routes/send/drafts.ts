import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { keyInReach } from "../../../domain/access/access.ts";
import { Refusal } from "../../../domain/errors.ts";
import { missingIdempotencyKey } from "../../../domain/idempotency.ts";
import { faultsOfDraft, missingFields } from "../../../domain/send/combinations.ts";
import { type Draft as DraftRow, draftStates, openStates } from "../../../domain/send/draft.ts";
import { type DecidingDeps, decideDraft } from "../../../flows/send/decide-draft.ts";
import {
  changeDraft,
  type DraftChange,
  discardDraft,
  ownedDraft,
  pageDrafts,
  sendDraft,
} from "../../../flows/send/write-draft.ts";
import { parseInstant } from "../../../standards/instant.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { bodyJudge, refuseFaulty } from "../../judging/faults.ts";
import { alsoNamed } from "../../judging/known-fields.ts";
import { api } from "../../shell/app.ts";
import { whetherThere } from "../../shell/described-operation.ts";
import { idPath, nothing, oneOf, pageQuery, text } from "../../shell/models.ts";
import { operation } from "../../shell/operation.ts";
import { cursorParameter, cursorRow } from "../../shell/parameters.ts";
import { idempotencyKeyOf, ifMatchOf } from "../../shell/request-headers.ts";
import { inboxPath, ownedInbox } from "../account/inboxes.ts";
import { draftChange, fieldsOfDraft } from "./draft-fields.ts";
import { Draft, DraftPage, type ShowingDrafts, toDrafts } from "./draft-shape.ts";
import { faultsOfSendAt, newEmail, readEmail, sendAtField } from "./new-email.ts";
import { limitHeaders, limitsIn, refusalsOfSend, type SendDeps, Sent, sentAnswer, toSent } from "./send.ts";
import { sendFormBody } from "./send-form.ts";
import { takenForms } from "./taken-forms.ts";

export interface DraftDeps extends SendDeps, ShowingDrafts, DecidingDeps {}

const DraftQuery = Type.Object({
  state: Type.Optional(
    Type.Array(oneOf(draftStates), {
      minItems: 1,
      description:
        "Only drafts in this state; may be given several times, or separated by commas. Default: the open ones",
      examples: [["scheduled"]],
    }),
  ),
  inbox_id: alsoNamed(
    "inboxId",
    Type.Optional(text({ description: "Only drafts of this inbox", examples: [examples.inboxId] })),
  ),
  thread_id: alsoNamed(
    "threadId",
    Type.Optional(text({ description: "Only drafts of this thread", examples: [examples.threadId] })),
  ),
  limit: pageQuery().limit,
  cursor: Type.Optional(cursorParameter()),
});

const DraftSend = named(
  "DraftSend",
  Type.Object(
    { sendAt: sendAtField },
    {
      description: "When to send it. Default: the `sendAt` of the draft, or at once",
      examples: [{}, { sendAt: "2027-01-15T09:00:00+01:00" }],
    },
  ),
);

const seenVersion = Type.Integer({ minimum: 1, description: "The version that the decider has seen", examples: [1] });

const DraftApproval = named(
  "DraftApproval",
  Type.Object({ version: seenVersion }, { description: "The version to approve", examples: [{ version: 1 }] }),
);

const DraftRejection = named(
  "DraftRejection",
  Type.Object(
    {
      version: seenVersion,
      reason: Type.Optional(
        text({
          max: 500,
          description: "The reason, which is told to who asks for the same mail again",
          examples: ["Not before the price is final"],
        }),
      ),
    },
    {
      description: "The version to reject, and why",
      examples: [{ version: 1, reason: "Not before the price is final" }],
    },
  ),
);

const ifMatch = {
  "If-Match": { description: "The `ETag` that the draft must have; else `version_mismatch`", example: '"1"' },
};
const entityTag = { ETag: "The version of the draft" };

/** Messages that are not sent yet: written, changed, and sent now or later. */
export function drafts(deps: DraftDeps) {
  const rules = { mailDomain: deps.mailDomain, max: deps.recipientsMax, now: deps.now };
  const forms = takenForms(deps);
  const limits = limitsIn(deps);
  const judgeWhole = bodyJudge(newEmail(deps.mailDomain), "change draft", (fields) => readEmail(fields, rules));
  const judgeDraft = bodyJudge(newEmail(deps.mailDomain), "change draft", (fields) =>
    readEmail(fields, rules, faultsOfDraft),
  );
  const ofDraft = {
    path: idPath("draft"),
    whenRefused: whetherThere((reach, id) => ownedDraft(deps, reach, id)),
  };

  async function answer(set: { headers: Record<string, string | number> }, draft: DraftRow) {
    set.headers.etag = `"${draft.version}"`;
    const [shown] = await toDrafts(deps, [draft]);
    if (shown === undefined) throw new Error("Cannot show draft: it has no shape");
    return shown;
  }

  /** The email of a changed draft. Null removes a field (RFC 7396). A draft that stays scheduled, or waits for a person, must be complete. */
  function changed(draft: DraftRow, patch: Readonly<Record<string, unknown>>): DraftChange {
    const fields = fieldsOfDraft(draft);
    // A reply to all takes its recipients anew.
    if (patch.replyAll === true) for (const name of ["to", "cc"]) delete fields[name];
    for (const [name, value] of Object.entries(patch)) {
      if (value === null) delete fields[name];
      else if (value !== undefined) fields[name] = value;
    }
    const isWanted =
      draft.state === "awaiting_approval" || (draft.state === "scheduled" && fields.sendAt !== undefined);
    const { mail, attachments } = (isWanted ? judgeWhole : judgeDraft)(fields);
    const names = (...some: string[]) => some.some((name) => patch[name] !== undefined);
    return {
      mail,
      attachments: patch.attachments === null ? [] : attachments,
      answersAnew: names("threadId", "replyToMessageId", "readUpToMessageId"),
      forwardsAnew: names("forwardOf", "forwardAs", "includeAttachments"),
    };
  }

  const ofInbox = api("/v1/inboxes/:id/drafts", "Drafts")
    .derive(async ({ account, params }) => {
      await ownedInbox(deps, account.reach, (params as { id: string }).id);
      return {};
    })
    .post(
      "",
      async ({ account, params, body: { mail, attachments }, request, set }) => {
        const idempotencyKey = keyInReach(account.reach, idempotencyKeyOf(request));
        if (idempotencyKey === undefined) throw missingIdempotencyKey();
        const step = { kind: "create" as const };
        const asked = { account, inboxId: params.id, idempotencyKey, ...mail, step };
        const result = await forms.send(account, asked, attachments, request);
        if (result.kind === "refused") throw result.refusal;
        if (!("draft" in result) || result.draft === undefined) throw new Error("Cannot answer: no draft was made");
        if (result.kind === "replayed") set.headers["idempotent-replayed"] = "true";
        set.headers.location = `/v1/drafts/${result.draft.id}`;
        set.status = 201;
        return answer(set, result.draft);
      },
      operation({
        summary: "Create draft",
        access: "agent",
        description:
          "Keeps an email until somebody sends it. All fields of an email are optional here; what is missing is asked for when it is sent. A reply is fixed now: it goes to the sender of the message that is the last one now, and quotes nothing later.",
        path: inboxPath,
        idempotencyKey: "required",
        body: newEmail(deps.mailDomain),
        otherBodies: { "multipart/form-data": sendFormBody },
        readForm: forms.take,
        readFields: (fields) => readEmail(fields, rules, faultsOfDraft),
        answers: { 201: Draft },
        answerHeaders: {
          201: {
            ...entityTag,
            Location: "The path of the draft",
            "Idempotent-Replayed": "`true` when an earlier request with this key made it",
          },
        },
        refuses: [
          "not_found",
          "feature_requires_paid_plan",
          "idempotency_in_progress",
          "idempotency_key_reused",
          "open_drafts_limit",
          "quota_exceeded",
          "no_recipient",
          "invalid_form",
          "upload_limit",
        ],
      }),
    );

  const all = api("/v1/drafts", "Drafts")
    .get(
      "",
      async ({ account: { reach }, query }) => {
        const { state: states = [...openStates], inbox_id: inboxId, thread_id: threadId, limit, cursor } = query;
        if (inboxId !== undefined) await ownedInbox(deps, reach, inboxId);
        const question = ["drafts", reach.accountId, states.toSorted(), inboxId, threadId];
        const last = cursor === undefined ? undefined : cursorRow(cursor, question, "none", "list drafts");
        if (last instanceof Refusal) throw last;
        const page = await pageDrafts(deps, { reach, states, inboxId, threadId, before: last?.id, limit, question });
        return { data: await toDrafts(deps, page.drafts), nextCursor: page.nextCursor };
      },
      operation({
        summary: "List drafts",
        access: "read",
        description: "Drafts, and mail that waits for its time or for the approval of a person, newest first.",
        query: DraftQuery,
        answers: { 200: DraftPage },
        refuses: ["not_found"],
      }),
    )
    .get(
      "/:id",
      async ({ account, params, set }) => answer(set, await ownedDraft(deps, account.reach, params.id)),
      operation({
        summary: "Get draft",
        access: "read",
        description:
          "One draft, also after it was sent or canceled. The content of a final draft is removed after 30 days, and a draft that nobody sends after 90.",
        ...ofDraft,
        answers: { 200: Draft },
        answerHeaders: { 200: entityTag },
      }),
    )
    .patch(
      "/:id",
      async ({ account, params, body, request, set }) => {
        const read = (draft: DraftRow) => changed(draft, body as Record<string, unknown>);
        return answer(set, await changeDraft(deps, account, { id: params.id, version: ifMatchOf(request), read }));
      },
      operation({
        summary: "Change draft",
        access: "agent",
        description:
          "Changes a draft, or a mail that is scheduled or waits for approval, which then needs approval anew. Without `sendAt`, as with `null`, a scheduled mail becomes a draft again. Changes at the same time are made one after the other. To keep a file, name it in `attachments` by the id of the draft and its filename.",
        ...ofDraft,
        headers: ifMatch,
        body: draftChange(deps.mailDomain),
        answers: { 200: Draft },
        answerHeaders: { 200: entityTag },
        refuses: [
          ...refusalsOfSend.filter((reason) => !["idempotency_in_progress", "idempotency_key_reused"].includes(reason)),
          "draft_not_open",
          "version_mismatch",
        ],
      }),
    )
    .delete(
      "/:id",
      async ({ account, actor, params, request, set }) => {
        await discardDraft(deps, { ...account.reach, actor }, { id: params.id, version: ifMatchOf(request) });
        set.status = 204;
      },
      operation({
        summary: "Discard draft",
        access: "agent",
        description:
          "Removes a draft that nobody has sent. A mail that is scheduled or waits for approval is canceled, and stays readable.",
        ...ofDraft,
        headers: ifMatch,
        answers: { 204: nothing("Discarded") },
        refuses: ["draft_not_open", "version_mismatch"],
      }),
    )
    .post(
      "/:id/send",
      async ({ account, params, body: { sendAt }, request, set }) => {
        const idempotencyKey = idempotencyKeyOf(request);
        if (idempotencyKey === undefined) throw missingIdempotencyKey();
        const result = await sendDraft(deps, account, {
          id: params.id,
          version: ifMatchOf(request),
          sendAt: sendAt === undefined ? undefined : parseInstant(sendAt),
          idempotencyKey,
          refuseIncomplete: (draft) =>
            refuseFaulty("validation_error", "send draft", missingFields(fieldsOfDraft(draft))),
        });
        if (result.kind === "refused") {
          if (result.usage !== undefined) limits.add(set, account, result.usage);
          throw result.refusal;
        }
        limits.add(set, account, result.usage);
        if (result.kind === "replayed") {
          set.headers["idempotent-replayed"] = "true";
          return toSent(result.message);
        }
        return sentAnswer(deps, request, result);
      },
      operation({
        summary: "Send draft",
        access: "agent",
        sends: true,
        description:
          "Sends a draft, now or at its time. The draft and the message have the same id. Of two requests at once one sends it; the other gets `draft_not_open`, or the same answer if its `Idempotency-Key` is the same.",
        ...ofDraft,
        idempotencyKey: "required",
        headers: {
          ...ifMatch,
          Prefer: {
            description: "`respond-async`: the answer does not wait, and is `pending`",
            example: "respond-async",
          },
        },
        body: DraftSend,
        bodyMayBeEmpty: true,
        alsoWrong: ({ sendAt }) => faultsOfSendAt(sendAt, deps.now()),
        answers: { 200: Sent },
        answerHeaders: {
          200: { "Idempotent-Replayed": "`true` when an earlier request with this key sent it", ...limitHeaders },
          429: limitHeaders,
        },
        refuses: [...refusalsOfSend, "draft_not_open", "version_mismatch"],
      }),
    )
    .post(
      "/:id/approve",
      async ({ account, actor, params: { id }, body: { version }, set }) => {
        const by = { key: account.keyId };
        const caller = { ...account.reach, actor };
        return answer(set, await decideDraft(deps, caller, { id, version, decision: "approve", by }));
      },
      operation({
        summary: "Approve draft",
        access: "full",
        description:
          "Approves this version of a mail that waits for a person. It is sent at once, or at its time. A key decides about no draft that it made.",
        ...ofDraft,
        body: DraftApproval,
        answers: { 200: Draft },
        answerHeaders: { 200: entityTag },
        refuses: ["approval_forbidden", "draft_not_open", "version_mismatch"],
      }),
    )
    .post(
      "/:id/reject",
      async ({ account, actor, params: { id }, body: { version, reason }, set }) => {
        const by = { key: account.keyId };
        const caller = { ...account.reach, actor };
        return answer(set, await decideDraft(deps, caller, { id, version, decision: "reject", by, reason }));
      },
      operation({
        summary: "Reject draft",
        access: "full",
        description:
          "Rejects a mail that waits for a person. For 7 days the same mail is refused with `draft_rejected` and the reason; keys with access `full` that did not make it may send it.",
        ...ofDraft,
        body: DraftRejection,
        answers: { 200: Draft },
        answerHeaders: { 200: entityTag },
        refuses: ["approval_forbidden", "draft_not_open", "version_mismatch"],
      }),
    );
  return new Elysia().use(ofInbox).use(all);
}
