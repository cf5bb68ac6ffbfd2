import { Type } from "@sinclair/typebox";
import { reportProofs, reportSources } from "../../../domain/reports/delivery.ts";
import { bounceTypes, reportKinds } from "../../../domain/reports/report.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { instant, nullable, oneOf } from "../../shell/models.ts";

const diagnostic = "smtp; 550 5.1.1 User unknown";

/** The fields that reports have in the API and in events, which spell `enhancedCode` differently. */
export const reportFields = {
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
      type: reportFields.type,
      code: reportFields.code,
      enhancedCode: reportFields.enhancedCode,
      diagnostic: reportFields.diagnostic,
      remoteMta,
      source: reportFields.source,
      proof: reportFields.proof,
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
      type: reportFields.type,
      recipient: nullable(Type.String({ examples: [examples.sender] }), {
        description: "Whom you wrote to; null where it names nobody of them",
      }),
      reportedRecipient: nullable(Type.String({ examples: [examples.sender] }), {
        description: "Whom the reporter names: shown and never trusted",
      }),
      code: reportFields.code,
      enhancedCode: reportFields.enhancedCode,
      diagnostic: reportFields.diagnostic,
      remoteMta,
      reportingMta: nullable(Type.String({ examples: ["relay.example"] }), { description: "Who reports, as it says" }),
      source: reportFields.source,
      proof: reportFields.proof,
      suppressed: Type.Boolean({ description: "Whether it had the recipient suppressed", examples: [true] }),
      receivedAt: instant({ description: "When it came" }),
    },
    { description: "What came back about a message that was sent" },
  ),
);
