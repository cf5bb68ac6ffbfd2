import type { ParsedMail } from "../../domain/message.ts";
import { bounceTypeOf, mostSpecific } from "../../domain/reports/bounce-type.ts";
import { saidText } from "../../domain/reports/phrases.ts";
import type { MailReport, RecipientReport, ReportKind } from "../../domain/reports/report.ts";
import { messageIdsOf } from "../../standards/message-id.ts";
import { cleanLine } from "../../standards/smtp-reply.ts";
import { codesIn, hasWords } from "./codes.ts";
import { addressIn, type Fields, fieldGroups, withoutType } from "./fields.ts";
import { idsOfHead, returnedHead } from "./returned-mail.ts";
import { readWords, type Words } from "./words.ts";

const mostRecipients = 100;
const mostOfDiagnostic = 1024;

const statusTypes: ReadonlySet<string> = new Set(["message/delivery-status", "message/global-delivery-status"]);

export function hasStatusPart({ attachments }: ParsedMail): boolean {
  return attachments.some(({ contentType }) => statusTypes.has(contentType));
}

/** The report in a delivery status part (RFC 3464), the outer one if they are nested; undefined without such a part. */
export function readStatus(mail: ParsedMail): MailReport | undefined {
  const part = mail.attachments.find(({ contentType }) => statusTypes.has(contentType));
  if (part === undefined) return undefined;
  const groups = fieldGroups(part.bytes);
  const ofMessage = new Map(groups.filter((group) => !isOfRecipient(group)).flatMap((group) => [...group]));
  const ofRecipients = recipientGroups(groups);
  const words = readWords(mail);
  const returned = returnedHead(mail);
  const named = ofRecipients.slice(0, mostRecipients).map((fields) => recipientOf(fields, words, ofRecipients.length));
  const recipients = named.length > 0 ? named : words.report.recipients;
  return {
    source: "dsn",
    recipients,
    messageIds: [
      ...new Set([
        ...(returned === undefined ? words.report.messageIds : idsOfHead(returned)),
        ...["x-original-message-id", "original-message-id"].flatMap((name) => messageIdsOf(ofMessage.get(name) ?? "")),
      ]),
    ].slice(0, 10),
    envelopeId: ofMessage.get("original-envelope-id")?.slice(0, 200),
    reportingMta: hostOf(ofMessage.get("reporting-mta")),
    originalSender: undefined,
    isOptOut: false,
  };
}

function isOfRecipient(fields: Fields): boolean {
  return recipientFields.some((name) => fields.has(name));
}

const recipientFields = ["final-recipient", "original-recipient", "action", "status", "diagnostic-code"];

/**
 * The fields of each recipient. Some servers put an empty line among them, so a group that repeats no recipient field of the last group
 * belongs to the same recipient.
 */
function recipientGroups(groups: readonly Fields[]): Fields[] {
  const merged: Map<string, string>[] = [];
  for (const group of groups.filter(isOfRecipient)) {
    const before = merged.at(-1);
    const isRest =
      before !== undefined && ![...group.keys()].some((name) => recipientFields.includes(name) && before.has(name));
    if (isRest) for (const [name, value] of group) before.set(name, value);
    else merged.push(new Map(group));
  }
  return merged;
}

function recipientOf(fields: Fields, words: Words, count: number): RecipientReport {
  const finalRecipient = addressIn(fields.get("final-recipient")) ?? addressIn(fields.get("x-actual-recipient"));
  const originalRecipient = addressIn(fields.get("original-recipient"));
  const diagnostic = (withoutType(fields.get("diagnostic-code")) ?? "").slice(0, mostOfDiagnostic);
  const status = codesIn(fields.get("status") ?? "");
  const human = words.saidOf(finalRecipient ?? originalRecipient, count === 1);
  // If the diagnosis has no words, the reason is read from the human-readable part, too.
  const said = hasWords(diagnostic) ? diagnostic : `${diagnostic} ${human}`;
  const codes = codesIn(diagnostic === "" ? human : diagnostic);
  const enhancedCodes = [...codes.enhancedCodes, ...status.enhancedCodes];
  const kind = kindOf(fields.get("action"), status.enhancedCodes[0], words);
  const refused = { enhancedCodes, code: codes.code, said: saidText(said) };
  return {
    kind,
    type: kind === "bounced" ? bounceTypeOf(refused) : undefined,
    originalRecipient,
    finalRecipient,
    code: codes.code,
    enhancedCode: mostSpecific(enhancedCodes),
    diagnostic: cleanLine(fields.get("diagnostic-code") ?? human, 1000) || undefined,
    remoteMta: hostOf(fields.get("remote-mta")),
  };
}

/** The kind from the first word of Action (RFC 3464 §2.3.3). If that is unknown, from the class of Status and the text. */
function kindOf(action: string | undefined, status: string | undefined, words: Words): ReportKind | undefined {
  const word = (action ?? "").toLowerCase().match(/[a-z]+/)?.[0] ?? "";
  if (word.startsWith("fail")) return "bounced";
  if (word.startsWith("delay")) return "delayed";
  if (word === "expired") return status?.startsWith("4") ? "delayed" : "bounced";
  if (word === "delivered" || word === "deliverable") return "delivered";
  if (word === "relayed" || word === "expanded") return undefined;
  if (status?.startsWith("2")) return "delivered";
  return words.isDelay ? "delayed" : "bounced";
}

function hostOf(field: string | undefined): string | undefined {
  const host = withoutType(field);
  return host === undefined ? undefined : cleanLine(host, 255) || undefined;
}
