import { bounceTypeOf, mostSpecific, type Refused } from "../../domain/reports/bounce-type.ts";
import type { Notice, NoticeNames } from "../../domain/reports/notice.ts";
import { saidText } from "../../domain/reports/phrases.ts";
import type { BounceType } from "../../domain/reports/report.ts";
import { cleanLine } from "../../standards/smtp-reply.ts";
import { codesIn } from "../report/codes.ts";

/** The facts that a relay reports. Each relay reports only some of them. */
export interface NoticeFacts {
  kind: Notice["kind"];
  /** The relay's classification of a bounce. */
  verdict?: Verdict | undefined;
  recipient?: string | undefined;
  isNamedByHeader?: boolean;
  occurredAt?: Date | undefined;
  code?: number | undefined;
  /** The enhanced status code (RFC 3463), if the relay's format has a field for it. */
  status?: string | undefined;
  /** The reply of the recipient's server. */
  diagnostic?: string | undefined;
  remoteMta?: string | undefined;
  reportingMta?: string | undefined;
  names: NoticeNames;
}

export type Verdict = "permanent" | "transient" | "block";

export function noticeOf(facts: NoticeFacts): Notice {
  const { kind, verdict, recipient, isNamedByHeader = false, occurredAt, diagnostic = "", names } = facts;
  const inText = codesIn(diagnostic);
  const enhancedCodes = [...inText.enhancedCodes, ...codesIn(facts.status ?? "").enhancedCodes];
  const code = facts.code ?? inText.code;
  return {
    kind,
    type: kind === "bounced" ? typeOf({ enhancedCodes, code, said: saidText(diagnostic) }, verdict) : undefined,
    code,
    enhancedCode: mostSpecific(enhancedCodes),
    diagnostic: cleanLine(diagnostic, 1000) || undefined,
    recipient: bareAddress(recipient),
    isNamedByHeader,
    remoteMta: cleaned(facts.remoteMta),
    reportingMta: cleaned(facts.reportingMta),
    occurredAt,
    names,
  };
}

/** Relays also call a refusal "permanent" if it is temporary or concerns the sender, so the server's reply counts more. */
function typeOf(refused: Refused, verdict: Verdict | undefined): BounceType {
  if (verdict === "block") return "block";
  const byTable = bounceTypeOf(refused);
  if (verdict === undefined || byTable === "soft" || byTable === "block") return byTable;
  return verdict === "permanent" ? "hard" : "soft";
}

/** The address of a recipient without its display name, which some relays add: `Jane <jane@example.com>`. */
function bareAddress(recipient: string | undefined): string | undefined {
  return recipient === undefined ? undefined : (/<([^<>]{3,320})>$/.exec(recipient)?.[1] ?? recipient);
}

function cleaned(host: string | undefined): string | undefined {
  return host === undefined ? undefined : cleanLine(host, 255) || undefined;
}
