import { bounceTypeOf, mostSpecific, type Refused } from "../../domain/reports/bounce-type.ts";
import type { Notice, NoticeNames } from "../../domain/reports/notice.ts";
import { saidText } from "../../domain/reports/phrases.ts";
import type { BounceType } from "../../domain/reports/report.ts";
import { cleanLine } from "../../standards/smtp-reply.ts";
import { codesIn } from "../report/codes.ts";

/** What a relay says, in our words, of which it knows some. */
export interface Told {
  kind: Notice["kind"];
  /** What the relay makes of a bounce. */
  verdict?: Verdict | undefined;
  recipient?: string | undefined;
  isNamedByHeader?: boolean;
  occurredAt?: Date | undefined;
  code?: number | undefined;
  /** Enhanced, as a field of its own. */
  status?: string | undefined;
  /** What the recipient's server said. */
  diagnostic?: string | undefined;
  remoteMta?: string | undefined;
  reportingMta?: string | undefined;
  names: NoticeNames;
}

export type Verdict = "permanent" | "transient" | "block";

export function noticeOf(told: Told): Notice {
  const { kind, verdict, recipient, isNamedByHeader = false, occurredAt, diagnostic = "", names } = told;
  const inText = codesIn(diagnostic);
  const enhancedCodes = [...inText.enhancedCodes, ...codesIn(told.status ?? "").enhancedCodes];
  const code = told.code ?? inText.code;
  return {
    kind,
    type: kind === "bounced" ? typeOf({ enhancedCodes, code, said: saidText(diagnostic) }, verdict) : undefined,
    code,
    enhancedCode: mostSpecific(enhancedCodes),
    diagnostic: cleanLine(diagnostic, 1000) || undefined,
    recipient: bareAddress(recipient),
    isNamedByHeader,
    remoteMta: cleaned(told.remoteMta),
    reportingMta: cleaned(told.reportingMta),
    occurredAt,
    names,
  };
}

/** A relay calls much "permanent" that is about us, or passes: what the server said to it counts more. */
function typeOf(refused: Refused, verdict: Verdict | undefined): BounceType {
  if (verdict === "block") return "block";
  const byTable = bounceTypeOf(refused);
  if (verdict === undefined || byTable === "soft" || byTable === "block") return byTable;
  return verdict === "permanent" ? "hard" : "soft";
}

/** Some relays repeat the name beside the address. */
function bareAddress(recipient: string | undefined): string | undefined {
  return recipient === undefined ? undefined : (/<([^<>]{3,320})>$/.exec(recipient)?.[1] ?? recipient);
}

function cleaned(host: string | undefined): string | undefined {
  return host === undefined ? undefined : cleanLine(host, 255) || undefined;
}
