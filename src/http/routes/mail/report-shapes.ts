import { Type } from "@sinclair/typebox";
import { reportProofs, reportSources } from "../../../domain/reports/kept-delivery.ts";
import { bounceTypes, reportKinds } from "../../../domain/reports/report.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { instant, nullable, oneOf } from "../../shell/models.ts";

const diagnostic = "smtp; 550 5.1.1 User unknown";

/** What a report says; the API and events spell one of the names differently. */
const said = {
  type: nullable(oneOf(bounceTypes, { examples: ["hard"] }), {
    description:
      "Of a bounce: `hard`: there is no such address; `soft`: not now; `block`: because of what we are or sent; `unknown`",
  }),
  code: nullable(Type.Integer({ examples: [550] }), { description: "The SMTP reply in it, where there is one" }),
  enhancedCode: nullable(Type.String({ examples: ["5.1.1"] }), { description: "As RFC 3463 has it" }),
  diagnostic: nullable(Type.String({ examples: [diagnostic] }), {
    description: "What the other server said, on one line: a stranger's words",
  }),
  source: oneOf(reportSources, {
    description: "`dsn`: a mail server's report; `arf`: a complaint; `relay`: the relay's notification",
    examples: ["dsn"],
  }),
  proof: oneOf(reportProofs, {
    description:
      "`return_path`: it came to the message's return path; `message_id`: it came to the inbox and names the message; `relay`: the relay said it",
    examples: ["return_path"],
  }),
};

const remoteMta = nullable(Type.String({ examples: ["mx.example.com"] }), {
  description: "The server that said it, as the reporter names it",
});

export const Delivery = named(
  "MessageDelivery",
  Type.Object(
    {
      state: oneOf(reportKinds, {
        description: "The last of `delayed`, `delivered`, `bounced`, `complained` that was reported, in this order",
        examples: ["bounced"],
      }),
      type: said.type,
      code: said.code,
      enhancedCode: said.enhancedCode,
      diagnostic: said.diagnostic,
      remoteMta,
      source: said.source,
      proof: said.proof,
      reportId: Type.String({ description: "The report that says so", examples: [examples.reportId] }),
      at: instant({ description: "When that came" }),
    },
    { description: "What came back about a message" },
  ),
);

export const Report = named(
  "Report",
  Type.Object(
    {
      id: Type.String({ description: "Id of the report", examples: [examples.reportId] }),
      messageId: Type.String({ description: "The message that it is about", examples: [examples.answerId] }),
      kind: oneOf(reportKinds, { description: "What has become of the message", examples: ["bounced"] }),
      type: said.type,
      recipient: nullable(Type.String({ examples: [examples.sender] }), {
        description: "Whom you wrote to; null where it names nobody of them",
      }),
      reportedRecipient: nullable(Type.String({ examples: [examples.sender] }), {
        description: "Whom the reporter names: shown and never trusted",
      }),
      code: said.code,
      enhancedCode: said.enhancedCode,
      diagnostic: said.diagnostic,
      remoteMta,
      reportingMta: nullable(Type.String({ examples: ["relay.example"] }), { description: "Who reports, as it says" }),
      source: said.source,
      proof: said.proof,
      suppressed: Type.Boolean({ description: "Whether it had the recipient suppressed", examples: [true] }),
      receivedAt: instant({ description: "When it came" }),
    },
    { description: "What came back about a message that was sent" },
  ),
);

/** Which message it is, in the words of events. */
export const MessageInShort = named(
  "MessageInShort",
  Type.Object(
    {
      id: Type.String({ description: "Id of the message", examples: [examples.answerId] }),
      rfc_message_id: Type.String({ description: "Its `Message-ID`", examples: [examples.rfcMessageId] }),
      provider_message_id: Type.String({
        description: "What the relay calls it, where it said so",
        examples: [examples.providerMessageId],
      }),
      to: Type.String({ description: "Address that it went to", examples: [examples.sender] }),
      subject: Type.String({ description: "Empty where it has none", examples: [examples.subject] }),
      created_at: instant({ description: "When it was accepted for sending" }),
    },
    { description: "The mail of yours that it came of" },
  ),
);

/** One name for the kind that the event tells of. */
export const ToldReport = named(
  "ToldReport",
  Type.Object(
    {
      id: Type.String({ description: "Id of the report", examples: [examples.reportId] }),
      kind: oneOf(reportKinds, { description: "What has become of the message", examples: ["bounced"] }),
      type: said.type,
      recipient: nullable(Type.String({ examples: [examples.sender] }), {
        description: "Whom you wrote to; null where it names nobody of them",
      }),
      code: said.code,
      enhanced_code: said.enhancedCode,
      diagnostic: said.diagnostic,
      source: said.source,
      proof: said.proof,
      suppressed: Type.Boolean({ description: "Whether it had the recipient suppressed", examples: [true] }),
    },
    { description: "What came back, in the words of events" },
  ),
);

export const AddedSuppression = named(
  "AddedSuppression",
  Type.Object(
    {
      id: Type.String({ description: "Id of the suppression", examples: [examples.suppressionId] }),
      address: Type.String({ description: "Address that nothing is sent to any more", examples: [examples.sender] }),
      inbox_id: nullable(Type.String(), {
        description: "The inbox that it holds for; null: all of them",
        examples: [null],
      }),
      reason: oneOf(["bounce", "complaint", "unsubscribe"], { description: "Why", examples: ["bounce"] }),
      expires_at: nullable(instant({ examples: [examples.suppressedUntil] }), { description: "Null: it has no end" }),
    },
    { description: "The suppression, in the words of events" },
  ),
);
