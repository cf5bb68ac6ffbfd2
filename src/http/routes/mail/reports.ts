import { Type } from "@sinclair/typebox";
import { notFound } from "../../../domain/errors.ts";
import { isId } from "../../../domain/ids.ts";
import type { KeptReport } from "../../../domain/reports/reported-message.ts";
import type { Deps } from "../../../flows/deps.ts";
import { attachmentDisposition } from "../../../standards/content-disposition.ts";
import { findReport, findSourceSize, listReports } from "../../../store/send/reports.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { api } from "../../shell/app.ts";
import { whetherThere } from "../../shell/described-operation.ts";
import { idPath } from "../../shell/models.ts";
import { operation } from "../../shell/operation.ts";
import { ownedMessage } from "./messages.ts";
import { Report } from "./report-shapes.ts";
import { lengthAlone, type StoredBytesDeps, storedBytes, untrustedHeaders } from "./stored-bytes.ts";

export interface ReportsDeps extends Deps, StoredBytesDeps {}

/** Reports about messages that were sent. */
export function reports(deps: ReportsDeps) {
  const whenRefused = whetherThere((reach, id) => ownedMessage(deps, reach, id));
  return api("/v1", "Messages")
    .get(
      "/messages/:id/reports",
      async ({ account, params }) => {
        const { id } = await ownedMessage(deps, account.reach, params.id);
        return { data: (await listReports(deps.db.api, id)).map(toReport) };
      },
      operation({
        summary: "List reports",
        access: "read",
        description:
          "Reports about a message, oldest first: delays, deliveries, bounces and complaints, one of each kind for each recipient. The message's `delivery` shows the worst.",
        path: idPath("message"),
        whenRefused,
        answers: {
          200: named(
            "ReportList",
            Type.Object(
              { data: Type.Array(Report, { description: "Reports, oldest first" }) },
              { description: "The reports about a message" },
            ),
          ),
        },
      }),
    )
    .get(
      "/messages/:id/reports/:report_id/raw",
      async ({ account, params, request }) => {
        const { id } = await ownedMessage(deps, account.reach, params.id);
        const report = isId("rep", params.report_id) ? await findReport(deps.db.api, id, params.report_id) : undefined;
        if (report === undefined) throw notFound("report");
        return rawAnswer(deps, report, request.method === "HEAD");
      },
      operation({
        summary: "Download raw report",
        access: "read",
        description: "A report as it came: a mail, or the JSON of the relay's notification (`application/json`).",
        path: { ...idPath("message"), report_id: { description: "Id of the report", example: examples.reportId } },
        whenRefused,
        answers: {
          200: Type.String({
            description: "The report",
            contentMediaType: "message/rfc822",
            examples: ["Subject: Undelivered Mail Returned to Sender\r\n\r\n550 5.1.1 User unknown\r\n"],
          }),
        },
        otherAnswers: { 200: RawNotice },
      }),
    );
}

const RawNotice = named(
  "RawNotice",
  Type.Object(
    {},
    {
      description: "The relay's notification, in its own format",
      additionalProperties: true,
      examples: [{ kind: "bounced", recipient: examples.sender, diagnostic: "550 5.1.1 User unknown" }],
    },
  ),
);

async function rawAnswer(deps: ReportsDeps, { id, source, sourceId }: KeptReport, isHead: boolean): Promise<Response> {
  const { api: db } = deps.db;
  const sizeBytes = sourceId === null ? undefined : await findSourceSize(db, sourceId);
  if (sourceId === null || sizeBytes === undefined) throw notFound("report");
  const isJson = source === "relay";
  const headers = {
    "content-type": isJson ? "application/json" : "message/rfc822",
    "content-disposition": attachmentDisposition(`${id}.${isJson ? "json" : "eml"}`),
    ...untrustedHeaders,
  };
  if (isHead) return new Response(lengthAlone(sizeBytes), { headers });
  const whole = { first: 0, last: sizeBytes - 1 };
  const stored = { sourceId, part: 0, sizeBytes, resource: "report" } as const;
  return new Response(await storedBytes(deps, db, stored, whole), { headers });
}

function toReport(report: KeptReport) {
  return {
    id: report.id,
    messageId: report.messageId,
    kind: report.kind,
    type: report.type,
    recipient: report.recipient === "" ? null : report.recipient,
    reportedRecipient: report.reportedRecipient,
    code: report.code,
    enhancedCode: report.enhancedCode,
    diagnostic: report.diagnostic,
    remoteMta: report.remoteMta,
    reportingMta: report.reportingMta,
    source: report.source,
    proof: report.proof,
    suppressed: report.suppressed,
    receivedAt: report.receivedAt.toISOString(),
  };
}
