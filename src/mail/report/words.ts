import type { ParsedMail } from "../../domain/message.ts";
import { bounceTypeOf, mostSpecific } from "../../domain/reports/bounce-type.ts";
import { type PhraseKind, phrasesIn, saidText } from "../../domain/reports/phrases.ts";
import type { MailReport, RecipientReport } from "../../domain/reports/report.ts";
import { cleanLine } from "../../standards/smtp-reply.ts";
import { codesIn } from "./codes.ts";
import { dividedText, idsOfHead, isOfTransport, returnedHead } from "./returned-mail.ts";
import { addressesAtEnds, paragraphsOf } from "./told-addresses.ts";

/** What the text of a report says to people, before the mail that it returns. */
export interface Words {
  /** As far as a report can be read from words alone. */
  report: MailReport;
  /** An SMTP code or an enhanced one stands in it. */
  hasCode: boolean;
  /** Both kinds stand in it, as in `550 5.1.1`. */
  hasBothCodes: boolean;
  hasReturned: boolean;
  /** The same, and not as people quote a mail in an answer: as a part of its own, or with a field that servers write. */
  isReturnedByServer: boolean;
  /** It says that the mail is late and not lost. */
  isDelay: boolean;
  /** What is said of one recipient; of all where nothing else is, and he is `alone`. */
  saidOf(address: string | undefined, alone: boolean): string;
  /** Whether one of these addresses stands in it, or in the field that lists failed recipients. */
  names(addresses: readonly string[]): boolean;
  phrases: ReadonlySet<PhraseKind>;
}

const mostText = 64 * 1024;
const mostRecipients = 100;
const mostOfOne = 1024;

/** Whether a server can have said these words about a mail. */
export function isToldOfMail({ hasCode, phrases }: Words): boolean {
  return hasCode || phrases.size > 0;
}

/** Whether the words say that a mail did not arrive. Words about spam or policy alone stand below many ordinary mails. */
export function saysFailure({ phrases }: Words): boolean {
  return failures.some((kind) => phrases.has(kind));
}

const failures = ["noUser", "gone", "unavailable", "edge", "full", "unresolved", "relaying", "failed"] as const;

export function readWords(mail: ParsedMail): Words {
  const divided = dividedText(mail.bodyText.slice(0, mostText), tells);
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
    if (own !== undefined && tells(own)) return own;
    if (alone) return said;
    // Of many, each is looked up in what there is: only so much of it that a hundred times is little.
    return paragraphs.size < 2 ? said.slice(0, mostOfOne) : (own ?? "");
  }

  function recipientTold(address: string | undefined, count: number): RecipientReport {
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

  const recipients = addresses.map((address) => recipientTold(address, addresses.length));
  return {
    report: {
      source: "dsn",
      recipients: recipients.length > 0 ? recipients : [recipientTold(undefined, 1)],
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

/** The address is no part of a longer one. */
function namesAddress(text: string, address: string): boolean {
  const [within, wanted] = [text.toLowerCase(), address.toLowerCase()];
  for (let at = within.indexOf(wanted); at >= 0; at = within.indexOf(wanted, at + 1)) {
    const [before, after] = [within.charAt(at - 1), within.slice(at + wanted.length, at + wanted.length + 2)];
    if (!ofAddress.test(before) && !/^(?:[a-z0-9-]|\.[a-z0-9])/.test(after)) return true;
  }
  return false;
}

const ofAddress = /[a-z0-9._+-]/;

function tells(text: string): boolean {
  const { code, enhancedCodes } = codesIn(text);
  return code !== undefined || enhancedCodes.length > 0 || phrasesIn(saidText(text)).size > 0;
}

/** Behind these the text of the mail comes, with or without its head. */
const copies =
  /^(?:[-=_* ]{0,60}(?:below this line is a copy|this is a copy of|original message|message header follows|included is a copy|returned message|unsent message|the message you sent|the header of|text of the message|message text follows|copy of your message|ursprüngliche nachricht|message headers? follow|undelivered message follows)).{0,200}$/im;

function withoutCopy(said: string): string {
  const found = copies.exec(said);
  return found === null || found.index === 0 ? said : said.slice(0, found.index);
}

/** What is told of our mail, for us to know it by, is not said by a server: its subject, and from whom it came. */
function withoutDetails(said: string): string {
  return said.replace(details, "");
}

const details =
  /^[ \t]{0,9}(?:(?:the )?(?:message )?subject(?: of the message)?(?: was| is)?[ \t]{0,9}:.{0,998}|(?:mail from|from|sender|reply-to)[ \t]{0,9}:[ \t]{0,9}<?[^\s<>@]{1,128}@[^\s<>@]{1,255}>?[ \t]{0,9})$/gim;

/** The mail is late. */
const delayed =
  /\b(?:delay(?:ed)?\b|will (?:be )?(?:retr|keep trying|continue)|no action is required|you do not need to resend|do not need to resend|not required to (?:do|resend)|still (?:being )?(?:trying|retried|attempting)|warning: (?:could not send|message|mail)|this is a warning message only|has not yet been delivered|not yet been delivered|delivery attempts will continue|deferred)|verzögert|verzögerung|retardé|retrasad|ritardat|задержан|opóźnion|odložen|zpožděn|vertraagd|vertraging|forsinket|försenad|遅延/i;

/** And these say that it is lost, whatever else stands there. */
const lost =
  /\b(?:permanent|giving up|given up|i've given up|failed permanently|fatal|undeliverable|has been returned|could not be delivered for (?!more than)|will not be retried|no longer be)/i;

/** So Sendmail calls what it gave up, whatever held it up. */
const returnedMail = /^returned mail\b/i;
