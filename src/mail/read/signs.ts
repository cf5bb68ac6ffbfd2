import { type MailSigns, type SignName, signFields } from "../../domain/automated.ts";
import { cleanText } from "../../standards/text.ts";
import { parameterOf, parseStructured, type StructuredValue } from "./structured.ts";

/** Those of a head that is being read: of a field that comes twice the first counts. */
export type NotedSigns = Partial<Record<SignName, string>>;

const names: ReadonlySet<string> = new Set(signFields);

export function isSign(name: string): name is (typeof signFields)[number] {
  return names.has(name);
}

/** Their words are short; of a stranger's no more is read. */
const mostOfSign = 512;

/** Takes down a field of the head, unfolded, one byte a character. An empty one says nothing. */
export function noteSign(signs: NotedSigns, name: SignName, value: string): void {
  if (signs[name] !== undefined) return;
  const said = cleanText(parseStructured(value.slice(0, mostOfSign)).value);
  if (said !== "") signs[name] = said;
}

/** With what a report says of itself in its Content-Type (RFC 6522 §3). */
export function withReportType(signs: MailSigns, type: StructuredValue | undefined): MailSigns {
  const reportType = type?.value === "multipart/report" ? parameterOf(type, "report-type") : undefined;
  return reportType === undefined
    ? signs
    : { ...signs, "report-type": cleanText(reportType.trim().toLowerCase().slice(0, mostOfSign)) };
}
