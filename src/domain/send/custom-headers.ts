import { codePointLength } from "../../standards/text.ts";
import { type AutoSubmitted, autoSubmittedValues } from "../automated.ts";
import { type ReadHeaders, readHeaders } from "../read-headers.ts";

/**
 * Checks the headers that a caller adds. The service alone sets headers for routing, threading, identity and structure, and headers that
 * relays carry out as commands. The fault for each forbidden header names it.
 */
export function readCustomHeaders(
  asked: Readonly<Record<string, string>> | undefined,
  { autoSubmitted, unsubscribe }: { autoSubmitted?: AutoSubmitted | undefined; unsubscribe?: boolean | undefined } = {},
): ReadHeaders {
  return readHeaders(asked, maxHeaders, ({ key, value }) => {
    if (!isAllowed(key)) return `cannot be set here: ${allowedInWords}`;
    if (autoSubmitted !== undefined && automatic.has(key)) {
      return 'cannot be combined with "autoSubmitted", which sets it';
    }
    if (unsubscribe === true && unsubscribing.has(key)) return 'cannot be combined with "unsubscribe", which sets it';
    if (key === "auto-submitted") {
      const isOne = autoSubmittedValues.some((known) => known === value);
      if (!isOne) return `must be one of ${autoSubmittedValues.map((known) => `"${known}"`).join(", ")}`;
    }
    if (value === "" || codePointLength(value) > 998 || /[\r\n\0]/.test(value)) {
      return "must be 1 to 998 characters without CR, LF and NUL";
    }
    if (key === "list-unsubscribe" && !isUnsubscribe(value)) {
      return "must be <https://…> or <mailto:…>, or several of them with commas between";
    }
    return undefined;
  });
}

const maxHeaders = 20;

/** The headers that the field `autoSubmitted` of a request sets. */
const automatic: ReadonlySet<string> = new Set(["auto-submitted", "x-auto-response-suppress"]);

/** The headers that the field `unsubscribe` of a request sets. */
const unsubscribing: ReadonlySet<string> = new Set(["list-unsubscribe", "list-unsubscribe-post"]);

const allowedInWords =
  "allowed are names that begin with X- (except those that relays or this service act on, such as X-SMTPAPI), List-Unsubscribe, List-Unsubscribe-Post, List-Id, Auto-Submitted, Importance, Priority, Feedback-ID and Precedence";

function isAllowed(key: string): boolean {
  if (named.has(key)) return true;
  if (!/^x-[a-z0-9-]{1,60}$/.test(key)) return false;
  return !orders.has(key) && !orderPrefixes.some((prefix) => key.startsWith(prefix));
}

const named: ReadonlySet<string> = new Set([
  "list-unsubscribe",
  "list-unsubscribe-post",
  "list-id",
  "auto-submitted",
  "importance",
  "priority",
  "x-priority",
  "feedback-id",
  "precedence",
]);

/** Headers that relays carry out as commands, and headers by which we recognize our own mail. */
const orders: ReadonlySet<string> = new Set(["x-smtpapi", "x-msys-api"]);
const orderPrefixes = [
  "x-inboxd-",
  "x-pm-",
  "x-ses-",
  "x-sg-",
  "x-mailgun-",
  "x-mj-",
  "x-mailjet-",
  "x-mc-",
  "x-mailin-",
  "x-sib-",
  "x-envelope-",
];

/**
 * The URLs in a List-Unsubscribe value, with their brackets; they are separated by commas (RFC 2369 §2). Undefined for an invalid value.
 * The URLs are not encoded, so each must fit in one line.
 */
function unsubscribeEntries(value: string): string[] | undefined {
  const entries = value.match(/<[^<>]*>/g) ?? [];
  const between = value.replace(/<[^<>]*>/g, "<>").replace(/[ \t]+/g, "");
  if (!/^<>(?:,<>)*$/.test(between)) return undefined;
  return entries.every(isUnsubscribeEntry) ? entries : undefined;
}

function isUnsubscribe(value: string): boolean {
  return unsubscribeEntries(value) !== undefined;
}

/** The most octets of a URL: a line has 998 (RFC 5322 §2.1.1), minus `List-Unsubscribe: ` before the URL and the comma after it. */
const longestEntry = 979;

function isUnsubscribeEntry(entry: string): boolean {
  if (entry.length > longestEntry || !/^<(?:https:\/\/|mailto:)[!-~]+>$/i.test(entry)) return false;
  return URL.canParse(entry.slice(1, -1));
}
