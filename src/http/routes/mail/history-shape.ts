import { type TProperties, Type } from "@sinclair/typebox";
import { actorTypes } from "../../../domain/access/actor.ts";
import { eventTypes } from "../../../domain/events/event-types.ts";
import { type HistoryEntry, mostEntries } from "../../../domain/history.ts";
import { verdicts } from "../../../domain/receive/authentication.ts";
import { reportKinds } from "../../../domain/reports/report.ts";
import { attemptOutcomes, keptAttempts } from "../../../domain/send/recipient-attempt.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { taggedUnion } from "../../document/tagged-union.ts";
import { instant, nullable, oneOf } from "../../shell/models.ts";
import { approvalFields } from "../send/approval-shape.ts";
import { Failure, shownFailure } from "./recipient-shape.ts";
import { reportFields } from "./report-shapes.ts";

function entry<const What extends HistoryEntry["what"], Fields extends TProperties>(
  name: string,
  whats: readonly What[],
  description: string,
  fields: Fields,
) {
  const head = {
    at: instant({ description: "When it happened" }),
    what: oneOf(whats, { description: "What happened" }),
    eventId: nullable(Type.String({ examples: [examples.eventId] }), {
      description: "The event about it, if the log has one",
    }),
  };
  return named(name, Type.Object({ ...head, ...fields }, { description }));
}

const recipient = Type.String({ description: "Address of the recipient", examples: [examples.sender] });

const received = entry("HistoryReceived", ["received"], "The mail arrived", {
  envelope: Type.Object(
    {
      from: Type.String({ description: "MAIL FROM, empty for a bounce", examples: [examples.sender] }),
      to: Type.String({ description: "RCPT TO", examples: [examples.address] }),
    },
    { description: "The SMTP envelope" },
  ),
  clientAddress: nullable(Type.String({ examples: ["192.0.2.9"] }), {
    description: "The IP address of the host that sent it; null if it is unknown, or nothing was checked",
  }),
  verdict: nullable(oneOf(verdicts, { examples: ["pass"] }), {
    description: "The verdict about its sender; null if it was not checked",
  }),
});

const step = (what: "drafted" | "parsed_later" | "accepted" | "sent", name: string, description: string) =>
  entry(name, [what], description, {});

const scheduled = entry("HistoryScheduled", ["scheduled"], "Its sending was accepted, to be sent later", {
  sendAt: instant({ description: "When it is to be sent" }),
});

const approvalRequested = entry(
  "HistoryApprovalRequested",
  ["approval_requested"],
  "A person was asked to approve it",
  {
    reasons: approvalFields.reasons,
    newRecipients: approvalFields.newRecipients,
  },
);

const decided = entry("HistoryDecided", ["approved", "rejected"], "A person decided about it", {
  by: approvalFields.decidedBy,
  reason: approvalFields.reason,
});

const attempted = entry("HistoryAttempted", ["attempted"], "An attempt to send the mail to a recipient", {
  recipient,
  attempt: Type.Integer({
    description: `The number of the attempt, from 1. The last ${keptAttempts} attempts of a recipient are kept`,
    examples: [1],
  }),
  outcome: oneOf(attemptOutcomes, { description: "`put_off`: there will be another attempt", examples: ["sent"] }),
  host: nullable(Type.String({ examples: ["mx.example.com"] }), {
    description: "The mail server; null if none was reached, or if the mail did not leave this service",
  }),
  tls: nullable(Type.String({ examples: ["TLSv1.3"] }), { description: "The version of TLS; null without TLS" }),
  code: nullable(Type.Integer({ examples: [250] }), { description: "The code of the server's reply" }),
  enhancedCode: reportFields.enhancedCode,
  message: Type.String({
    description: "The server's words, or what went wrong, in one line",
    examples: ["Ok: queued as 4F5xQ21zT9"],
  }),
});

const failed = entry("HistoryFailed", ["failed"], "A recipient did not get the mail, and no attempt is left", {
  failure: Failure,
});

const reported = entry("HistoryReported", reportKinds, "A report about the mail came", {
  reportId: Type.String({ description: "The report", examples: [examples.reportId] }),
  recipient: nullable(recipient, { description: "The recipient; null if the report names none of them" }),
  type: reportFields.type,
  code: reportFields.code,
  enhancedCode: reportFields.enhancedCode,
  diagnostic: reportFields.diagnostic,
  source: reportFields.source,
});

const told = entry("HistoryTold", ["told"], "An attempt to deliver one of its events to a webhook endpoint", {
  event: oneOf(eventTypes, { description: "The type of the event", examples: ["message.sent"] }),
  webhookId: nullable(Type.String({ examples: [examples.webhookId] }), {
    description: "The endpoint; null for a default one that is deleted",
  }),
  attempt: Type.Integer({ description: "The number of the attempt, from 1", examples: [1] }),
  status: nullable(Type.Integer({ examples: [200] }), { description: "The HTTP status; null without an answer" }),
  error: nullable(Type.String(), { description: "Why it failed; null after a 2xx", examples: [null] }),
});

const marked = entry("HistoryMarked", ["read", "unread"], "The message's thread was marked", {
  by: nullable(
    Type.Object(
      {
        type: oneOf(actorTypes, { description: "As in the audit", examples: ["key"] }),
        id: nullable(Type.String(), { description: "Id of the key", examples: [examples.keyId] }),
        name: nullable(Type.String(), { description: "Name of the key at that time", examples: ["first start"] }),
      },
      { description: "Who did it" },
    ),
    { description: "Who did it; null for a caller without full access to the whole account" },
  ),
});

const Entry = taggedUnion("what", "HistoryEntry", "A step in the life of a message. `what` is its type", [
  step("accepted", "HistoryAccepted", "The mail was accepted and stored, to be sent"),
  attempted,
  step("sent", "HistorySent", "The first recipient's server took the mail"),
  failed,
  reported,
  told,
  received,
  step("parsed_later", "HistoryParsedLater", "The mail was parsed, which had to wait after its arrival"),
  step("drafted", "HistoryDrafted", "The mail was written as a draft"),
  scheduled,
  approvalRequested,
  decided,
  marked,
]);

export const MessageHistory = named(
  "MessageHistory",
  Type.Object(
    {
      data: Type.Array(Entry, { description: "The steps, oldest first" }),
      truncated: Type.Boolean({
        description: `Whether there are more than ${mostEntries} steps. Then the first one and the last ones are shown`,
        examples: [false],
      }),
    },
    { description: "What became of a message" },
  ),
);

export function toEntry(shown: HistoryEntry) {
  const at = shown.at.toISOString();
  if (shown.what === "failed") return { ...shown, at, failure: shownFailure(shown.failure) };
  if (shown.what === "approval_requested")
    return { ...shown, at, reasons: [...shown.reasons], newRecipients: [...shown.newRecipients] };
  return shown.what === "scheduled" ? { ...shown, at, sendAt: shown.sendAt.toISOString() } : { ...shown, at };
}
