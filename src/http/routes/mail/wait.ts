import { type Static, Type } from "@sinclair/typebox";
import { seqOfWait, waitCursor } from "../../../domain/cursor.ts";
import type { Refusal } from "../../../domain/errors.ts";
import type { WaitRequest, WaitResult } from "../../../flows/read/wait-for-mail.ts";
import { parseInstant } from "../../../standards/instant.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { alsoNamed } from "../../judging/known-fields.ts";
import { api } from "../../shell/app.ts";
import { whetherThere } from "../../shell/described-operation.ts";
import { nullable, text } from "../../shell/models.ts";
import { operation } from "../../shell/operation.ts";
import { instantParameter, placeParameter, wordListParameter, wrongParameter } from "../../shell/parameters.ts";
import { inboxPath } from "../account/inboxes.ts";
import { Message, toMessage } from "./message-shape.ts";
import { ownedTotals, type ReadingDeps } from "./messages.ts";

export interface WaitingDeps extends ReadingDeps {
  waitForMail: (request: WaitRequest) => Promise<WaitResult>;
  /** Lifts the limit on how long a request may stay without an answer. */
  mayTakeLong: (request: Request) => void;
}

/** Without `since` and `after`, a wait also finds mail that arrived up to a minute before the request. */
const defaultSinceMs = 60_000;

const WaitParameters = Type.Object({
  after: Type.Optional(
    placeParameter(
      "Only mail after this message, or after the `cursor` of an earlier wait: the first that matches. Without it: the newest match since `since`, or else the next that arrives",
    ),
  ),
  since: Type.Optional(
    instantParameter("Without `after`: not older than this, instead of a minute before the request"),
  ),
  from: Type.Optional(
    filterText(
      "The sender: a whole address, `@example.com` for a domain and its subdomains, or a part of the address or name",
      examples.sender,
    ),
  ),
  to: Type.Optional(filterText("The address that the mail was sent to, with its `+tag`", examples.address)),
  subject: Type.Optional(filterText("A part of the subject", "order")),
  thread_id: alsoNamed(
    "threadId",
    Type.Optional(text({ description: "Only mail of this thread", examples: [examples.threadId] })),
  ),
  has: Type.Optional(wordListParameter("Only mail that has all of these", ["code", "link", "attachment"])),
  automated: Type.Optional(Type.Boolean({ description: "Only automated mail (`true`), or only other mail (`false`)" })),
  timeout: Type.Integer({
    minimum: 0,
    maximum: 60,
    default: 30,
    description: "Seconds to wait; 0 only checks for existing mail. Keep it below the time-out of your proxy",
  }),
});

const WaitAnswer = named(
  "WaitAnswer",
  Type.Object(
    {
      message: nullable(Message, { description: "The mail; null after the time-out" }),
      cursor: Type.String({
        description: "The position up to which the inbox was searched. Pass it as `after` to the next wait",
        examples: [examples.cursor],
      }),
    },
    { description: "The result of a wait" },
  ),
);

function filterText(description: string, example: string) {
  return text({ min: 1, max: 500, description: `${description}. Case-insensitive`, examples: [example] });
}

export function waiting(deps: WaitingDeps) {
  return api("/v1/inboxes", "Messages").get(
    "/:id/wait",
    async ({ account, actor, params, query, request, set }) => {
      const after = afterOf(params.id, query);
      if (after !== undefined && "refusal" in after) {
        await ownedTotals(deps, account.reach, params.id);
        throw after.refusal;
      }
      deps.mayTakeLong(request);
      const result = await deps.waitForMail({
        ...filtersOf(query),
        reach: account.reach,
        inboxId: params.id,
        after,
        signal: request.signal,
        caller: account,
        ip: actor.ip,
        since: sinceOf(query) ?? new Date(deps.now().getTime() - defaultSinceMs),
        timeoutMs: query.timeout * 1000,
      });
      if (result.end === "stopping") set.headers.connection = "close";
      const message = result.end === "found" ? ((await toMessage(deps, account.id, result.message)) ?? null) : null;
      return { message, cursor: waitCursor(params.id, result.seen) };
    },
    operation({
      summary: "Wait for mail",
      access: "read",
      description:
        "Answers as soon as a matching mail arrives, or with `null` after the time-out. Both are 200 and have a `cursor`: pass it as `after` to the next wait, and you miss no mail and get none twice. With `timeout=0` the answer has the current `cursor`: get it before you trigger a mail, then wait `after` it. Inbound mail only. A wait changes nothing.",
      path: inboxPath,
      query: WaitParameters,
      whenRefused: whetherThere((reach, id) => ownedTotals(deps, reach, id)),
      refuses: ["too_many_listeners"],
      answers: { 200: WaitAnswer },
    }),
  );
}

type Parameters = Static<typeof WaitParameters>;

function filtersOf(query: Parameters) {
  const has = new Set(query.has?.split(","));
  return {
    from: query.from,
    to: query.to,
    subject: query.subject,
    threadId: query.thread_id,
    automated: query.automated,
    hasAttachment: has.has("attachment"),
    hasCode: has.has("code"),
    hasLink: has.has("link"),
  };
}

function sinceOf({ since }: Parameters): Date | undefined {
  return since === undefined ? undefined : parseInstant(since);
}

function afterOf(inboxId: string, { after, since }: Parameters): WaitRequest["after"] | { refusal: Refusal } {
  if (after === undefined) return undefined;
  if (since !== undefined) {
    return { refusal: wrongParameter("since", "must be left out with `after`", "wait for mail") };
  }
  if (after.startsWith("msg_")) return { messageId: after };
  const seen = seqOfWait(inboxId, after);
  if (seen !== undefined) return { seen };
  return { refusal: wrongParameter("after", "must come from a wait on the same inbox", "wait for mail") };
}
