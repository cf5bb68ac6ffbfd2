import { type MailSigns, type SignName, signFields } from "../../domain/automated.ts";
import { cleanText } from "../../standards/text.ts";
import { parameterOf, parseStructured, type StructuredValue } from "./structured.ts";

/** The header fields that show automated mail, while the header is read. Of several fields with the same name, the first counts. */
export type NotedSigns = Partial<Record<SignName, string>>;

const names: ReadonlySet<string> = new Set(signFields);

export function isSign(name: string): name is (typeof signFields)[number] {
  return names.has(name);
}

/** Values are cut to this length; real ones are shorter. */
const mostOfSign = 512;

/** Stores the unfolded value of a header field, which has one character for each byte. An empty value is ignored. */
export function noteSign(signs: NotedSigns, name: SignName, value: string): void {
  if (signs[name] !== undefined) return;
  const word = cleanText(parseStructured(value.slice(0, mostOfSign)).value);
  if (word !== "") signs[name] = word;
}

/** Adds the report type from the Content-Type of a report (RFC 6522 §3). */
export function withReportType(signs: MailSigns, type: StructuredValue | undefined): MailSigns {
  const reportType = type?.value === "multipart/report" ? parameterOf(type, "report-type") : undefined;
  return reportType === undefined
    ? signs
    : { ...signs, "report-type": cleanText(reportType.trim().toLowerCase().slice(0, mostOfSign)) };
}
