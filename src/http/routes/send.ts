import { Type } from "@sinclair/typebox";
import { autoSubmittedValues } from "../../domain/automated.ts";
import { notFound, type Refusal } from "../../domain/errors.ts";
import { missingIdempotencyKey } from "../../domain/idempotency.ts";
import { type Plan, rateLimitFields, type SendUsage } from "../../domain/limits.ts";
import type { SendRequest, SendResult, SentMessage } from "../../domain/send/send.ts";
import type { Deps } from "../../flows/deps.ts";
import { sendUsage } from "../../flows/send/send-usage.ts";
import { parseSendAddress } from "../../standards/address.ts";
import { listSentMessages } from "../../store/send/send-facts.ts";
import { examples } from "../document/examples.ts";
import { named } from "../document/schema.ts";
import { alsoNamed } from "../judging/also-named.ts";
import { api } from "../shell/app.ts";
import type { Refused } from "../shell/described-operation.ts";
import { idempotencyKeyOf } from "../shell/idempotency-key.ts";
import { oneOf, text } from "../shell/models.ts";
import { operation } from "../shell/operation.ts";
import { emailAddress } from "./email-address.ts";
import { inboxOwners } from "./inbox-owners.ts";
import { inboxPath } from "./inboxes.ts";

type Answering = Refused["set"];

export interface SendDeps extends Deps {
  sendEmail: (request: SendRequest) => Promise<SendResult>;
  /** Resolves when the first attempt to relay a message has settled, or at the time-out. */
  settled: (messageId: string, timeoutMs: number) => Promise<void>;
  sendWaitMs: number;
}

const Sent = named(
  "SendResult",
  Type.Object(
    {
      messageId: Type.String({ description: "Id of the message", examples: [examples.answerId] }),
      threadId: Type.String({ description: "Thread that it is in", examples: [examples.threadId] }),
      providerMessageId: Type.String({
        description: "The relay's own id once it has taken the mail; until then our `Message-ID`",
        examples: [examples.providerMessageId],
      }),
      status: oneOf(["pending", "sent", "failed"], {
        description: "`pending` while it is still to be delivered",
        examples: ["sent"],
      }),
      isRead: Type.Optional(Type.Boolean({ description: "`false` when the thread stayed unread; see `reason`" })),
      reason: Type.Optional(
        oneOf(["newer_inbound"], { description: "Mail newer than `readUpToMessageId` is in the thread" }),
      ),
    },
    {
      description: "On disk with its place in the outbox, and what has become of it so far",
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

const newEmail = (mailDomain: string) =>
  named(
    "NewEmail",
    Type.Object(
      {
        to: emailAddress(mailDomain, {
          description: "One bare address, at most 254 octets",
          examples: [examples.sender],
        }),
        subject: Type.Optional(
          text({
            min: 1,
            max: 998,
            pattern: "^[^\\r\\n]*$",
            error: "must be 1 to 998 characters without line breaks",
            description: "Required without `threadId`; with it, `Re: ` and the thread's subject unless given",
            examples: [examples.subject],
          }),
        ),
        body: text({
          min: 1,
          max: 100_000,
          description: "Plain text or HTML: which of them is detected",
          examples: [examples.answer],
        }),
        bodyHtml: Type.Optional(
          text({
            min: 1,
            max: 500_000,
            description: "Only when the two versions must differ; `body` is then plain text",
            examples: [`<p>${examples.answer}</p>`],
          }),
        ),
        threadId: alsoNamed(
          "thread_id",
          Type.Optional(text({ description: "Thread of this inbox to reply in", examples: [examples.threadId] })),
        ),
        includeQuote: Type.Optional(
          Type.Boolean({
            default: true,
            description: "With `threadId`: append a quoted copy of the message that is answered",
          }),
        ),
        replyTo: Type.Optional(
          emailAddress(mailDomain, {
            description: "Where answers go. On the free plan one of your own inboxes",
            examples: [examples.address],
          }),
        ),
        readUpToMessageId: Type.Optional(
          text({
            description:
              "With `threadId`: the last message that you have seen. It is answered and quoted, else the last of the thread; newer inbound mail keeps the thread unread",
            examples: [examples.messageId],
          }),
        ),
        autoSubmitted: Type.Optional(
          oneOf(autoSubmittedValues, {
            description:
              "Says in the mail that a program wrote it (`Auto-Submitted`, RFC 3834), of its own accord or in answer to another. Other programs then don't answer it; help desks may put it aside",
            examples: ["auto-replied"],
          }),
        ),
        ignoreLoop: Type.Optional(
          Type.Boolean({
            default: false,
            description: "With `threadId`: send also where `loop_detected` would refuse it",
          }),
        ),
      },
      {
        description: "An email to send: a new one, or with `threadId` a reply",
        examples: [
          { to: examples.sender, subject: examples.subject, body: examples.answer },
          { to: examples.sender, threadId: examples.threadId, body: examples.answer },
        ],
      },
    ),
  );

export function send(deps: SendDeps) {
  const owners = inboxOwners(deps);

  /** Every answer about an inbox says what is left of its limits (contract §5.3). */
  function tellLimits(set: Answering, plan: Plan, usage: SendUsage): void {
    for (const [name, value] of Object.entries(rateLimitFields(usage, deps.limits[plan], deps.now()))) {
      set.headers[name.toLowerCase()] = value;
    }
  }

  /** Where nothing was counted it is looked up; an inbox that was deleted meanwhile was not found from the start. */
  async function refused({ account, params, set }: Refused, refusal: Refusal, known?: SendUsage): Promise<Refusal> {
    const inboxId = params.id ?? "";
    const usage = known ?? (await sendUsage(deps, account, inboxId));
    if (usage === undefined) owners.forget(inboxId);
    else tellLimits(set, account.plan, usage);
    return usage === undefined ? notFound("inbox") : refusal;
  }

  return api("/v1/inboxes/:id/send", "Sending")
    .derive(async ({ account, params }) => ({
      inboxIsThere: await owners.check(account.id, (params as { id: string }).id),
    }))
    .post(
      "",
      async ({ account, params, body, request, set }) => {
        const idempotencyKey = idempotencyKeyOf(request);
        if (idempotencyKey === undefined) throw missingIdempotencyKey();
        const result = await deps.sendEmail({
          account,
          inboxId: params.id,
          idempotencyKey,
          to: wireAddress(body.to, deps.mailDomain),
          replyTo: body.replyTo === undefined ? undefined : wireAddress(body.replyTo, deps.mailDomain),
          subject: body.subject,
          body: body.body,
          bodyHtml: body.bodyHtml,
          threadId: body.threadId,
          includeQuote: body.includeQuote ?? true,
          readUpToMessageId: body.readUpToMessageId,
          autoSubmitted: body.autoSubmitted,
          ignoreLoop: body.ignoreLoop === true ? true : undefined,
        });
        if (result.kind === "refused") throw await refused({ account, params, set }, result.refusal, result.usage);
        tellLimits(set, account.plan, result.usage);
        if (result.kind === "replayed") {
          set.headers["idempotent-replayed"] = "true";
          return toSent(result.message);
        }
        const message = prefersNoWait(request) ? undefined : await firstAttempt(deps, result.message.id);
        return {
          ...toSent(message ?? result.message),
          ...(result.newerInbound && { isRead: false, reason: "newer_inbound" as const }),
        };
      },
      operation({
        summary: "Send email",
        description:
          "Sends one email from the inbox. The message is on disk before the answer; the answer waits for the first attempt to relay it, so that a healthy relay gives `sent`. The same `Idempotency-Key` with the same body sends once, however often it is asked.",
        path: inboxPath,
        idempotencyKey: "required",
        headers: {
          Prefer: { description: "`respond-async` answers at once with `pending`", example: "respond-async" },
        },
        body: newEmail(deps.mailDomain),
        alsoWrong: ({ subject, threadId }) =>
          subject === undefined && threadId === undefined
            ? [{ pointer: "#/subject", detail: 'is required without "threadId"' }]
            : [],
        whenRefused: refused,
        answers: { 200: Sent },
        answerHeaders: {
          200: {
            "Idempotent-Replayed": "`true` when an earlier request with this key sent it",
            ...limitHeaders,
          },
          429: limitHeaders,
        },
        refuses: [
          "feature_requires_paid_plan",
          "idempotency_in_progress",
          "idempotency_key_reused",
          "rate_limit_exceeded",
          "daily_limit_exceeded",
          "cold_outreach_limit",
          "loop_detected",
        ],
      }),
    );
}

const limitHeaders = { RateLimit: "What is left of each limit", "RateLimit-Policy": "The limits of the inbox" };

/** RFC 7240: preferences are a list, and each may carry parameters. */
function prefersNoWait(request: Request): boolean {
  const preferences = request.headers.get("prefer")?.toLowerCase().split(",") ?? [];
  return preferences.some((preference) => preference.split(";")[0]?.trim() === "respond-async");
}

function toSent(message: SentMessage) {
  return {
    messageId: message.id,
    threadId: message.threadId,
    providerMessageId: message.providerMessageId ?? `<${message.rfcMessageId}>`,
    status: message.status === "received" ? "sent" : message.status,
  };
}

/** What has become of a message when its first attempt has ended, or when the time for it is up. */
async function firstAttempt(deps: SendDeps, messageId: string): Promise<SentMessage | undefined> {
  if (deps.sendWaitMs > 0) await deps.settled(messageId, deps.sendWaitMs);
  const [message] = await listSentMessages(deps.db.api, [messageId]);
  return message;
}

/** The form that goes on the wire: the schema has seen that it is one. */
function wireAddress(address: string, mailDomain: string): string {
  const parsed = parseSendAddress(address, mailDomain);
  if (parsed === undefined) throw new Error("Cannot send: an address passed its schema and is none");
  return parsed;
}
