import type { Notice } from "../../domain/reports/notice.ts";
import type { BounceType } from "../../domain/reports/report.ts";
import { parseInstant } from "../../standards/instant.ts";
import { noticeOf } from "./notice-of.ts";

/** A notice in the service's own format. The route has validated it. */
export interface GenericNotice {
  kind: Notice["kind"];
  type?: BounceType | undefined;
  code?: number | undefined;
  enhanced_code?: string | undefined;
  diagnostic?: string | undefined;
  recipient?: string | undefined;
  occurred_at?: string | undefined;
  return_path?: string | undefined;
  rfc_message_id?: string | undefined;
  provider_message_id?: string | undefined;
}

export function genericNotice(given: GenericNotice): Notice {
  const { kind, type, code, diagnostic, recipient } = given;
  const notice = noticeOf({
    kind,
    verdict: type === "hard" ? "permanent" : undefined,
    code,
    diagnostic,
    recipient,
    status: given.enhanced_code,
    occurredAt: given.occurred_at === undefined ? undefined : parseInstant(given.occurred_at),
    names: {
      returnPath: given.return_path,
      wireMessageId: given.rfc_message_id,
      providerMessageId: given.provider_message_id,
    },
  });
  // The type "hard" is checked against the server's reply, since it suppresses the address. Other types are taken as given.
  return kind === "bounced" && type !== undefined && type !== "hard" ? { ...notice, type } : notice;
}
