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
      "For a bounce. `hard`: no such address; `soft`: a temporary fault; `block`: our server or the content was rejected; `unknown`: no known cause",
  }),
  code: nullable(Type.Integer({ examples: [550] }), {
    description: "The code of the SMTP reply in it, if there is one",
  }),
  enhancedCode: nullable(Type.String({ examples: ["5.1.1"] }), { description: "Enhanced status code (RFC 3463)" }),
  diagnostic: nullable(Type.String({ examples: [diagnostic] }), {
    description: "The other server's text in one line. It is a stranger's text",
  }),
  source: oneOf(reportSources, {
    description: "`dsn`: a mail server's report; `arf`: a complaint; `relay`: the relay's notification",
    examples: ["dsn"],
  }),
  proof: oneOf(reportProofs, {
    description:
      "`return_path`: it came to the message's return path; `message_id`: it came to the inbox and names the message; `relay`: the relay sent it",
    examples: ["return_path"],
  }),
};

const remoteMta = nullable(Type.String({ examples: ["mx.example.com"] }), {
  description: "The server that answered, as the report names it",
});

export const Delivery = named(
  "MessageDelivery",
  Type.Object(
    {
      state: oneOf(reportKinds, {
        description: "The worst reported state. From best to worst: `delayed`, `delivered`, `bounced`, `complained`",
        examples: ["bounced"],
      }),
      type: reportFields.type,
      code: reportFields.code,
      enhancedCode: reportFields.enhancedCode,
      diagnostic: reportFields.diagnostic,
      remoteMta,
      source: reportFields.source,
      proof: reportFields.proof,
      reportId: Type.String({ description: "The report", examples: [examples.reportId] }),
      at: instant({ description: "When the report came" }),
    },
    { description: "The reports about a message" },
  ),
);

export const Report = named(
  "Report",
  Type.Object(
    {
      id: Type.String({ description: "Id of the report", examples: [examples.reportId] }),
      messageId: Type.String({ description: "The message that it is about", examples: [examples.answerId] }),
      kind: oneOf(reportKinds, { description: "What the report says about the message", examples: ["bounced"] }),
      type: reportFields.type,
      recipient: nullable(Type.String({ examples: [examples.sender] }), {
        description: "The recipient; null if the report names none of them",
      }),
      reportedRecipient: nullable(Type.String({ examples: [examples.sender] }), {
        description: "The recipient in the report. It is shown, but never trusted",
      }),
      code: reportFields.code,
      enhancedCode: reportFields.enhancedCode,
      diagnostic: reportFields.diagnostic,
      remoteMta,
      reportingMta: nullable(Type.String({ examples: ["relay.example"] }), {
        description: "The reporting server, as the report names it",
      }),
      source: reportFields.source,
      proof: reportFields.proof,
      suppressed: Type.Boolean({ description: "Whether it suppressed the recipient", examples: [true] }),
      receivedAt: instant({ description: "When it came" }),
    },
    { description: "A report about a message that was sent" },
  ),
);
