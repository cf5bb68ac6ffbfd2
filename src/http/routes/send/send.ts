import { Type } from "@sinclair/typebox";
import { keyInReach, type Reach } from "../../../domain/access/access.ts";
import { notFound, type Refusal } from "../../../domain/errors.ts";
import { missingIdempotencyKey } from "../../../domain/idempotency.ts";
import { type Limited, limitsOf, rateLimitFields, type SendUsage } from "../../../domain/limits.ts";
import { waitingStates } from "../../../domain/send/draft.ts";
import type { SendResult, SentMessage } from "../../../domain/send/send.ts";
import type { Deps } from "../../../flows/deps.ts";
import { sendUsage } from "../../../flows/send/send-usage.ts";
import type { SendingWithFiles } from "../../../flows/send/send-with-files.ts";
import { boundedMemory } from "../../../primitives/memory.ts";
import { listSentMessages } from "../../../store/send/send-facts.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { api } from "../../shell/app.ts";
import type { Refused } from "../../shell/described-operation.ts";
import { instant, oneOf } from "../../shell/models.ts";
import { operation } from "../../shell/operation.ts";
import { idempotencyKeyOf } from "../../shell/request-headers.ts";
import { inboxPath, ownedInbox } from "../account/inboxes.ts";
import { Recipient, toRecipient } from "../mail/recipient-shape.ts";
import { reasonsShown } from "./approval-shape.ts";
import { newEmail, readEmail } from "./new-email.ts";
import { sendFormBody } from "./send-form.ts";
import { takenForms } from "./taken-forms.ts";

type Answering = Refused["set"];

/** Waits for the first attempts at a message. `destinations` is the number of its rows in the outbox. */
export type Settled = (messageId: string, timeoutMs: number, destinations: number) => Promise<void>;

export interface SendDeps extends SendingWithFiles {
  /** Resolves when the first attempt at each destination of a message has settled, or at the time-out. */
  settled: Settled;
  sendWaitMs: number;
}

export const Sent = named(
  "SendResult",
  Type.Object(
    {
      messageId: Type.String({ description: "Id of the message", examples: [examples.answerId] }),
      threadId: Type.String({ description: "Thread that it is in", examples: [examples.threadId] }),
      providerMessageId: Type.String({
        description: "The relay's id once it has accepted the mail; our `Message-ID` until then",
        examples: [examples.providerMessageId],
      }),
      status: oneOf(["pending", "sent", "failed"], {
        description: "`pending` until it is delivered",
        examples: ["sent"],
      }),
      state: Type.Optional(
        oneOf(waitingStates, {
          description: "Set while it waits for its time or for the approval of a person: `status` is then `pending`",
        }),
      ),
      sendAt: Type.Optional(instant({ description: "When it will be sent, if it is scheduled" })),
      reasons: Type.Optional(reasonsShown()),
      expiresAt: Type.Optional(instant({ description: "When it expires, if nobody approves it until then" })),
      isRead: Type.Optional(Type.Boolean({ description: "`false` if the thread stayed unread; see `reason`" })),
      reason: Type.Optional(
        oneOf(["newer_inbound"], { description: "Mail newer than `readUpToMessageId` is in the thread" }),
      ),
      recipients: Type.Optional(
        Type.Array(Recipient, { description: "Status of each copy, if there are several recipients" }),
      ),
    },
    {
      description: "The message, which is stored and in the outbox, and its current status",
      examples: [
        {
          messageId: examples.answerId,
          threadId: examples.threadId,
          providerMessageId: examples.providerMessageId,
          status: "sent",
        },
      ],
    },
  ),
);

export function send(deps: SendDeps) {
  const owners = inboxOwners(deps);
  const rules = { mailDomain: deps.mailDomain, max: deps.recipientsMax, now: deps.now };

  const { add: addLimits } = limitsIn(deps);

  /**
   * Adds the limits to the answer of a refused send. Reads the usage if it is not `known`. Returns `not_found` if the
   * inbox was deleted meanwhile.
   */
  async function refused({ account, params, set }: Refused, refusal: Refusal, known?: SendUsage): Promise<Refusal> {
    const inboxId = params.id ?? "";
    const usage = known ?? (await sendUsage(deps, account, inboxId));
    if (usage === undefined) owners.forget(inboxId);
    else addLimits(set, account, usage);
    return usage === undefined ? notFound("inbox") : refusal;
  }

  const forms = takenForms(deps);

  return api("/v1/inboxes/:id/send", "Sending")
    .derive(async ({ account, params }) => ({
      inboxIsThere: await owners.check(account.reach, (params as { id: string }).id),
    }))
    .post(
      "",
      async ({ account, params, body: { mail, attachments }, request, set }) => {
        const idempotencyKey = keyInReach(account.reach, idempotencyKeyOf(request));
        if (idempotencyKey === undefined) throw missingIdempotencyKey();
        const asked = { account, inboxId: params.id, idempotencyKey, ...mail };
        const result = await forms.send(account, asked, attachments, request);
        if (result.kind === "refused") throw await refused({ account, params, set }, result.refusal, result.usage);
        addLimits(set, account, result.usage);
        if (result.kind === "replayed") {
          set.headers["idempotent-replayed"] = "true";
          return toSent(result.message);
        }
        return sentAnswer(deps, request, result);
      },
      operation({
        summary: "Send email",
        access: "send",
        sends: true,
        description:
          "Sends one email from the inbox. The message is stored before the answer. The answer waits for the first attempt to relay it, so with a healthy relay it is `sent`. Repeated requests with the same `Idempotency-Key` and the same body send once.",
        path: inboxPath,
        idempotencyKey: "required",
        headers: {
          Prefer: {
            description: "`respond-async`: the answer does not wait, and is `pending`",
            example: "respond-async",
          },
        },
        body: newEmail(deps.mailDomain),
        otherBodies: { "multipart/form-data": sendFormBody },
        readForm: forms.take,
        readFields: (fields) => readEmail(fields, rules),
        whenRefused: refused,
        answers: { 200: Sent },
        answerHeaders: {
          200: {
            "Idempotent-Replayed": "`true` when an earlier request with this key sent it",
            ...limitHeaders,
          },
          429: limitHeaders,
        },
        refuses: refusalsOfSend,
      }),
    );
}

/** The refusals of a send, beyond those of every operation. */
export const refusalsOfSend = [
  "label_limit",
  "inbox_disabled",
  "feature_requires_paid_plan",
  "idempotency_in_progress",
  "idempotency_key_reused",
  "sending_disabled",
  "recipient_not_allowed",
  "recipient_suppressed",
  "draft_rejected",
  "unsubscribe_unavailable",
  "rate_limit_exceeded",
  "daily_limit_exceeded",
  "cold_outreach_limit",
  "answered_meanwhile",
  "domain_not_verified",
  "address_taken",
  "loop_detected",
  "open_drafts_limit",
  "quota_exceeded",
  "no_recipient",
  "invalid_form",
  "upload_limit",
] as const;

/** Returns a function that adds the headers with the remaining limits of the inbox to an answer (contract §5.3). */
export function limitsIn({ limits, now }: Pick<Deps, "limits" | "now">) {
  return {
    add(set: Answering, account: Limited, usage: SendUsage): void {
      for (const [name, value] of Object.entries(rateLimitFields(usage, limitsOf(limits, account), now()))) {
        set.headers[name.toLowerCase()] = value;
      }
    },
  };
}

export const limitHeaders = { RateLimit: "What remains of each limit", "RateLimit-Policy": "The limits of the inbox" };

/** The answer to an accepted send, after its first attempts unless it is sent later. */
export async function sentAnswer(deps: SendDeps, request: Request, result: SendResult) {
  if (result.kind !== "accepted" && result.kind !== "waiting") throw new Error("Cannot answer: nothing was accepted");
  const waits = result.kind === "accepted" && !prefersNoWait(request);
  const message = waits ? await firstAttempts(deps, result) : undefined;
  return {
    ...toSent(message ?? result.message),
    ...(result.newerInbound && { isRead: false, reason: "newer_inbound" as const }),
  };
}

/**
 * Whether `Prefer` has `respond-async`. The header is a list of preferences, and each may have parameters (RFC 7240).
 */
function prefersNoWait(request: Request): boolean {
  const preferences = request.headers.get("prefer")?.toLowerCase().split(",") ?? [];
  return preferences.some((preference) => preference.split(";")[0]?.trim() === "respond-async");
}

export function toSent(message: SentMessage) {
  return {
    messageId: message.id,
    threadId: message.threadId,
    providerMessageId: message.providerMessageId ?? `<${message.rfcMessageId}>`,
    status: message.status === "received" ? "sent" : message.status,
    ...(message.state !== undefined && { state: message.state }),
    ...(message.sendAt !== undefined && { sendAt: message.sendAt.toISOString() }),
    ...(message.approval && { reasons: [...message.approval.reasons], expiresAt: message.approval.expiresAt }),
    ...(message.recipients.length > 1 && { recipients: message.recipients.map(toRecipient) }),
  };
}

/** The message after its first attempts, or when the time for them is up. */
async function firstAttempts(
  deps: SendDeps,
  { message: { id }, destinations }: SendResult & { kind: "accepted" },
): Promise<SentMessage | undefined> {
  if (deps.sendWaitMs > 0) await deps.settled(id, deps.sendWaitMs, destinations);
  const [message] = await listSentMessages(deps.db.api, [id]);
  return message;
}

/** Remembers which account owns an inbox: each send checks this, and it changes only when the inbox is deleted. The tenant may change. */
interface InboxOwners {
  /** Throws if the inbox is beyond the reach. A remembered inbox may have been deleted meanwhile. */
  check(reach: Reach, inboxId: string): Promise<void>;
  forget(inboxId: string): void;
}

const mostRemembered = 50_000;

function inboxOwners(deps: Deps): InboxOwners {
  const owners = boundedMemory<string, string>(mostRemembered);
  return {
    async check(reach, inboxId) {
      const known = owners.get(inboxId);
      const isBeyond = reach.inboxId !== undefined && reach.inboxId !== inboxId;
      if (isBeyond || (known !== undefined && known !== reach.accountId)) throw notFound("inbox");
      if (known !== undefined && reach.externalId === undefined) return;
      await ownedInbox(deps, reach, inboxId);
      owners.set(inboxId, reach.accountId);
    },
    forget: owners.delete,
  };
}
