import { type Static, Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { notFound, Refusal } from "../../../domain/errors.ts";
import type { Notice } from "../../../domain/reports/notice.ts";
import type { NoticeSource } from "../../../domain/reports/notice-source.ts";
import { bounceTypes, reportKinds } from "../../../domain/reports/report.ts";
import type { NoticesBody, ProveNotices } from "../../../flows/receive/prove-notices.ts";
import type { NoticeObserver, TakeNotices } from "../../../flows/receive/take-notices.ts";
import { genericNotice } from "../../../mail/notices/generic.ts";
import { textAt } from "../../../mail/notices/json.ts";
import { type ReadNotices, readNotices } from "../../../mail/notices/read-notices.ts";
import { parseInstant, yearsOfInstants } from "../../../standards/instant.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { bodyJudge, readAsTheyAre } from "../../judging/faults.ts";
import { invalidJson, parseJson, readBodyOfAnyType, relayNoticesLimits, relayNoticesPath } from "../../shell/body.ts";
import { unavailable } from "../../shell/errors.ts";
import { instant, oneOf, text } from "../../shell/models.ts";
import { operation } from "../../shell/operation.ts";

export interface RelayNoticesDeps {
  isDraining(): boolean;
  /** Undefined without RELAY_NOTICES: the path is then 404. */
  relay: { provider: NoticeSource["provider"]; prove: ProveNotices } | undefined;
  takeNotices: TakeNotices;
  observe: NoticeObserver;
}

const kinds = [...reportKinds, "unsubscribed"] as const satisfies readonly Notice["kind"][];

const GenericNotice = Type.Object(
  {
    kind: oneOf(kinds, {
      description: "The status of the mail. A notice of another kind is skipped and counted as ignored",
    }),
    type: Type.Optional(
      oneOf(bounceTypes, {
        description:
          "The type of a bounce. Without it, the server's reply decides. `hard` is checked against that reply, which wins if they contradict",
      }),
    ),
    code: Type.Optional(Type.Integer({ minimum: 200, maximum: 599, description: "Code of the server's reply" })),
    enhanced_code: Type.Optional(
      text({
        pattern: "^[245]\\.\\d{1,3}\\.\\d{1,3}$",
        error: "must be an enhanced status code such as 5.1.1",
        description: "Enhanced code of the server's reply",
      }),
    ),
    diagnostic: Type.Optional(text({ max: 4096, description: "The text of the recipient's server" })),
    recipient: Type.Optional(
      text({
        min: 3,
        max: 320,
        description: "The recipient. Without it nobody is suppressed if the message has several recipients",
      }),
    ),
    occurred_at: Type.Optional(instant({ description: "When it happened" })),
    return_path: Type.Optional(text({ min: 1, max: 320, description: "The envelope sender that the mail had" })),
    rfc_message_id: Type.Optional(text({ min: 1, max: 998, description: "Its Message-ID" })),
    provider_message_id: Type.Optional(
      text({ min: 1, max: 998, description: "The id that the relay gave in its answer" }),
    ),
  },
  { additionalProperties: false },
);

const GenericNotices = Type.Array(GenericNotice, { maxItems: 1000, error: "must be at most 1000 notices" });

/** The body for the OpenAPI document: a notice with RELAY_NOTICES=generic. Other relays have their own formats. */
const ShownNotice = named(
  "RelayNotice",
  Type.Object(GenericNotice.properties, {
    additionalProperties: true,
    description: "A notice of `generic`, or a list of up to 1,000. Other relays use their own formats",
    examples: [
      {
        kind: "bounced",
        type: "hard",
        code: 550,
        enhanced_code: "5.1.1",
        diagnostic: "550 5.1.1 User unknown",
        recipient: examples.sender,
        occurred_at: examples.receivedAt,
        provider_message_id: examples.providerMessageId,
      },
    ],
  }),
);

/**
 * Takes the notices of the relay. It is mounted without the guard, because the relay has no API key and authenticates
 * in its own way.
 */
export function relayNotices(deps: RelayNoticesDeps) {
  return new Elysia({ tags: ["Relay"] }).post(
    relayNoticesPath,
    async ({ request }) => {
      const { relay } = deps;
      if (relay === undefined) throw notFound("route");
      if (deps.isDraining()) throw unavailable("the service is shutting down", { connection: "close" });
      try {
        const header = (name: string) => request.headers.get(name) ?? "";
        return await relay.prove({ header, body: () => bodyOf(request) }, (proven) =>
          deps.takeNotices(noticesIn(relay.provider, proven)),
        );
      } catch (error) {
        if (error instanceof Refusal && error.reason === "unauthorized") deps.observe("refused", 1);
        throw error;
      }
    },
    operation({
      summary: "Take relay notices",
      access: "open",
      description:
        "Notices of the relay of `RELAY_NOTICES` about mail that it accepted: bounces, complaints, deliveries. Set this as the URL of the relay's webhook. No key is needed, because each relay authenticates in its own way. Notices about unknown mail are skipped. A notice that arrives before its mail is known to be sent gets 503, and must be sent again.",
      security: ["relaySignature", "relayPassword", "relayToken"],
      ownBody: ShownNotice,
      refuses: ["unauthorized", "invalid_json", "validation_error", "not_found"],
      answers: {
        200: named(
          "TakenNotices",
          Type.Object(
            {
              accepted: Type.Integer({ description: "How many notices were about our messages", examples: [1] }),
              ignored: Type.Integer({
                description: "How many were about other mail, or about opens, clicks and the like",
                examples: [0],
              }),
            },
            { description: "The notices are stored" },
          ),
        ),
      },
    }),
  );
}

async function bodyOf(request: Request): Promise<NoticesBody> {
  const bytes = await readBodyOfAnyType(request, relayNoticesLimits);
  return {
    bytes,
    value() {
      if (bytes.length === 0) throw invalidJson("it is empty");
      return parseJson(bytes);
    },
  };
}

function noticesIn(provider: NoticeSource["provider"], proven: unknown): ReadNotices {
  if (provider !== "generic") return readNotices(provider, proven);
  const given = Array.isArray(proven) ? judgeAll(proven) : isOfOtherKind(proven) ? [undefined] : [judgeOne(proven)];
  const notices = given.flatMap((one) => one ?? []);
  return {
    events: notices.map((one) => ({ notices: [genericNotice(one)], raw: JSON.stringify(one) })),
    others: given.length - notices.length,
  };
}

/** Whether a notice has a kind that we do not use, such as an open or a click. */
function isOfOtherKind(notice: unknown): boolean {
  const kind = textAt(notice, "kind");
  return kind !== undefined && !kinds.some((known) => known === kind);
}

const doing = "take notices";
const readOne = readAsTheyAre<Static<typeof GenericNotice>>((fields) => faultsOf(fields));
const judgeOne = bodyJudge(GenericNotice, doing, readOne);
const judgeList = bodyJudge(GenericNotices, doing);

/**
 * Validates a list of notices. A notice of another kind becomes undefined and keeps its index, because faults name
 * indexes.
 */
function judgeAll(list: readonly unknown[]) {
  const judged = judgeList(list.map((one) => (isOfOtherKind(one) ? placeholder : one)));
  const faults = judged.flatMap((fields, index) => faultsOf(fields, `/${index}`));
  if (faults.length === 0) return judged.map((one, index) => (isOfOtherKind(list[index]) ? undefined : one));
  throw new Refusal("validation_error", "Cannot take notices: a notice has no id of a message, or a wrong time", {
    faults,
  });
}

const placeholder = { kind: "delivered", return_path: "-" };

const names = ["return_path", "rfc_message_id", "provider_message_id"] as const;

function faultsOf(fields: Readonly<Record<string, unknown>>, path = "") {
  const faults: { pointer: string; detail: string }[] = [];
  if (names.every((name) => fields[name] === undefined)) {
    faults.push({ pointer: `#${path}`, detail: `must have one of ${names.join(", ")}` });
  }
  const at = fields.occurred_at;
  if (typeof at === "string" && parseInstant(at) === undefined) {
    faults.push({ pointer: `#${path}/occurred_at`, detail: `must be an instant (RFC 3339) of ${yearsOfInstants}` });
  }
  return faults;
}
