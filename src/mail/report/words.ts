import type { ParsedMail } from "../../domain/message.ts";
import { bounceTypeOf, mostSpecific } from "../../domain/reports/bounce-type.ts";
import { type PhraseKind, phrasesIn, saidText } from "../../domain/reports/phrases.ts";
import type { MailReport, RecipientReport } from "../../domain/reports/report.ts";
import { cleanLine } from "../../standards/smtp-reply.ts";
import { codesIn } from "./codes.ts";
import { dividedText, idsOfHead, isOfTransport, returnedHead } from "./returned-mail.ts";
/**
 * The facts in the text of a report. Codes, phrases and addresses in the returned mail, which follows in the same text, do not count.
 */
export interface Words {
  /** The report that follows from the text, for mail without a machine-readable part. */
  report: MailReport;
  /** True if the text has an SMTP code or an enhanced one. */
  hasCode: boolean;
  /** True if the text has both kinds, as in `550 5.1.1`. */
  hasBothCodes: boolean;
  hasReturned: boolean;
  /** True if a server returned the mail: as a part of its own, or in the text with Message-ID or Received, which people do not quote. */
  isReturnedByServer: boolean;
  /** True if the text says that the mail is delayed, and not that it failed. */
  isDelay: boolean;
  /**
   * The text about one recipient: the paragraph with its address, if that gives a reason. Otherwise the whole text if this is the only
   * recipient (`alone`), or else the paragraph. A text without several paragraphs counts as the paragraph of each recipient.
   */
  saidOf(address: string | undefined, alone: boolean): string;
  /** True if one of these addresses stands in the text, or in the header field X-Failed-Recipients. */
  names(addresses: readonly string[]): boolean;
  phrases: ReadonlySet<PhraseKind>;
}

const mostText = 64 * 1024;
const mostRecipients = 100;
const mostOfOne = 1024;

/** True if the text may be a server's report about a mail: it has a code, or a known phrase. */
export function isAboutMail({ hasCode, phrases }: Words): boolean {
  return hasCode || phrases.size > 0;
}

/**
 * True if the text says that a mail did not arrive. Words about spam or policy are not enough, since many ordinary mails have them in a
 * footer.
 */
export function statesFailure({ phrases }: Words): boolean {
  return failures.some((kind) => phrases.has(kind));
}

const failures = ["noUser", "gone", "unavailable", "edge", "full", "unresolved", "relaying", "failed"] as const;

export function readWords(mail: ParsedMail): Words {
  const divided = dividedText(mail.bodyText.slice(0, mostText), hasReason);
  const returned = returnedHead(mail);
  const said = withoutDetails(withoutCopy(divided.said));
  const paragraphs = paragraphsOf(said);
  const codes = codesIn(said);
  const phrases = phrasesIn(saidText(`${mail.subject}\n${said}`));
  const isDelay = delayed.test(`${mail.subject}\n${said}`) && !(lost.test(said) || returnedMail.test(mail.subject));
  const failed = (mail.signs["x-failed-recipients"] ?? "").split(",", mostRecipients).map((address) => address.trim());
  const named = failed.filter((address) => address.includes("@"));
  const begun = named.length > 0 ? named : [...paragraphs.keys()];
  const addresses = begun.length > 0 ? begun : addressesAtEnds(said);

  function saidOf(address: string | undefined, alone: boolean): string {
    const own =
      address === undefined ? undefined : paragraphs.get(address.toLowerCase())?.slice(0, alone ? mostText : mostOfOne);
    if (own !== undefined && hasReason(own)) return own;
    if (alone) return said;
    // Up to a hundred recipients are each looked up in this text, so it is cut to 1,024 characters.
    return paragraphs.size < 2 ? said.slice(0, mostOfOne) : (own ?? "");
  }

  function recipientOf(address: string | undefined, count: number): RecipientReport {
    const text = saidOf(address, count === 1);
    const { code, enhancedCodes } = codesIn(text);
    const type = bounceTypeOf({ enhancedCodes, code, said: saidText(text) });
    return {
      kind: isDelay ? "delayed" : "bounced",
      type: isDelay ? undefined : type,
      originalRecipient: undefined,
      finalRecipient: address,
      code,
      enhancedCode: mostSpecific(enhancedCodes),
      diagnostic: cleanLine(text, 1000) || undefined,
      remoteMta: undefined,
    };
  }

  const recipients = addresses.map((address) => recipientOf(address, addresses.length));
  return {
    report: {
      source: "dsn",
      recipients: recipients.length > 0 ? recipients : [recipientOf(undefined, 1)],
      messageIds: idsOfHead(returned ?? divided.quoted),
      envelopeId: undefined,
      reportingMta: undefined,
      originalSender: undefined,
      isOptOut: false,
    },
    hasCode: codes.code !== undefined || codes.enhancedCodes.length > 0,
    hasBothCodes: codes.code !== undefined && codes.enhancedCodes.length > 0,
    hasReturned: (returned ?? divided.quoted) !== undefined,
    isReturnedByServer: returned !== undefined || isOfTransport(divided.quoted),
    isDelay,
    saidOf,
    names: (all) =>
      all.some((address) => namesAddress(divided.said, address) || namesAddress(named.join(" "), address)),
    phrases,
  };
}

/** True if the text has this address, and not only as a part of a longer one. */
function namesAddress(text: string, address: string): boolean {
  const [within, wanted] = [text.toLowerCase(), address.toLowerCase()];
  for (let at = within.indexOf(wanted); at >= 0; at = within.indexOf(wanted, at + 1)) {
    const [before, after] = [within.charAt(at - 1), within.slice(at + wanted.length, at + wanted.length + 2)];
    if (!ofAddress.test(before) && !/^(?:[a-z0-9-]|\.[a-z0-9])/.test(after)) return true;
  }
  return false;
}

const ofAddress = /[a-z0-9._+-]/;

/** True if the text has a code or a known phrase. */
function hasReason(text: string): boolean {
  const { code, enhancedCodes } = codesIn(text);
  return code !== undefined || enhancedCodes.length > 0 || phrasesIn(saidText(text)).size > 0;
}

/** Matches a line that introduces a copy of the returned mail, with or without its header. */
const copies =
  /^(?:[-=_* ]{0,60}(?:below this line is a copy|this is a copy of|original message|message header follows|included is a copy|returned message|unsent message|the message you sent|the header of|text of the message|message text follows|copy of your message|ursprüngliche nachricht|message headers? follow|undelivered message follows)).{0,200}$/im;

function withoutCopy(said: string): string {
  const found = copies.exec(said);
  return found === null || found.index === 0 ? said : said.slice(0, found.index);
}

/** Removes the subject and the sender of our mail from the text, since they are our words and not the server's. */
function withoutDetails(said: string): string {
  return said.replace(details, "");
}

const details =
  /^[ \t]{0,9}(?:(?:the )?(?:message )?subject(?: of the message)?(?: was| is)?[ \t]{0,9}:.{0,998}|(?:mail from|from|sender|reply-to)[ \t]{0,9}:[ \t]{0,9}<?[^\s<>@]{1,128}@[^\s<>@]{1,255}>?[ \t]{0,9})$/gim;

/** Words for a delayed mail. */
const delayed =
  /\b(?:delay(?:ed)?\b|will (?:be )?(?:retr|keep trying|continue)|no action is required|you do not need to resend|do not need to resend|not required to (?:do|resend)|still (?:being )?(?:trying|retried|attempting)|warning: (?:could not send|message|mail)|this is a warning message only|has not yet been delivered|not yet been delivered|delivery attempts will continue|deferred)|verzögert|verzögerung|retardé|retrasad|ritardat|задержан|opóźnion|odložen|zpožděn|vertraagd|vertraging|forsinket|försenad|遅延/i;

/** Words for a mail that failed. They overrule the words of `delayed`. */
const lost =
  /\b(?:permanent|giving up|given up|i've given up|failed permanently|fatal|undeliverable|has been returned|could not be delivered for (?!more than)|will not be retried|no longer be)/i;

/** Sendmail's subject when it has given up. */
const returnedMail = /^returned mail\b/i;

/** The paragraphs by the address in their first line, in lower case. A paragraph ends before the next line that begins with an address. */
function paragraphsOf(said: string): Map<string, string> {
  const paragraphs = new Map<string, string>();
  let address: string | undefined;
  let isOfSession = false;
  let before = "";
  for (const line of said.split("\n")) {
    const [start = "", code, begun] = beginsWithAddress.exec(line) ?? [];
    if (begun !== undefined && isAboutAddress(line.slice(start.length)) && paragraphs.size < mostRecipients) {
      address = begun.toLowerCase();
      // A line of an SMTP session concerns one recipient, and the next line another, unless it continues the first.
      isOfSession = code !== undefined;
    } else if (isOfSession && !isFolded.test(line) && !isContinued.test(before)) address = undefined;
    before = line;
    if (address !== undefined) paragraphs.set(address, `${paragraphs.get(address) ?? ""}${line}\n`);
  }
  return paragraphs;
}

/** The addresses at the ends of lines, for a text in which no line begins with an address. Lines about the sender are skipped. */
function addressesAtEnds(said: string): string[] {
  const found = new Set<string>();
  for (const line of said.split("\n")) {
    if (found.size >= mostRecipients) break;
    const [, address] = endsWithAddress.exec(line.slice(-mostOfEnd)) ?? [];
    if (address !== undefined && !ofSender.test(line)) found.add(address.toLowerCase());
  }
  return [...found];
}

const mostOfEnd = 400;

/** An address at the beginning of a line, perhaps after the code of a reply. */
const beginsWithAddress =
  /^[ \t*>-]{0,20}([45][0-5]\d[ -](?:[45]\.\d{1,3}\.\d{1,3} )?)?(?:(?:to|recipient|user|address|rcpt)[ \t:]{1,9})?["'<([]{0,2}([^\s<>()[\]"':;,@]{1,128}@(?:[^\s<>()[\]"':;,@.]{1,63}\.){1,9}[^\s<>()[\]"':;,@.]{2,63})(?!\.?[^\s<>()[\]"':;,@.])[>)\]"']{0,3}/i;

/** True if a line that begins with an address is about it: nothing, a sign, or a text with a reply code stands after the address. */
function isAboutAddress(rest: string): boolean {
  return endsThere.test(rest) || codesIn(rest).code !== undefined;
}

const endsThere = /^[ \t]{0,9}(?:$|[:;,(.[<]| -| on )/;

const endsWithAddress =
  /(?<=[ \t:<("'])([^\s<>()[\]"':;,@]{1,128}@(?:[^\s<>()[\]"':;,@.]{1,63}\.){1,9}[^\s<>()[\]"':;,@.]{2,63})[>)."' \t\r]{0,9}$/;

const ofSender = /\b(?:from|sender|reply-to)\b/i;

const isFolded = /^[ \t]/;
const isContinued = /^[45][0-5]\d-/;
