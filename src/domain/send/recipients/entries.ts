import { parseNamedAddress, parseSendAddress } from "../../../standards/address.ts";
import type { Fault } from "../../errors.ts";
import { allowedName, displayNameRule, isDisplayName } from "./display-name.ts";

export const recipientTypes = ["to", "cc", "bcc"] as const;
export type RecipientType = (typeof recipientTypes)[number];

/** A recipient of a mail. */
export interface Recipient {
  /** The address in the form that goes on the wire. */
  address: string;
  name: string | undefined;
  type: RecipientType;
}

/** One recipient in a request: a bare address, or an address with a name, as an object or as `Jane Doe <jane@example.com>`. */
export type AskedEntry = string | { address: string; name?: string | undefined };

/** The recipients in a request. A single string is one entry. */
export type AskedRecipients = Readonly<Partial<Record<RecipientType, string | readonly AskedEntry[] | undefined>>>;

export interface RecipientRules {
  mailDomain: string;
  /** The most different addresses of a mail, in all its fields. */
  max: number;
}

/** The recipients in order, and the faults of the request. If there are faults, the recipients must not be used. */
export interface ReadRecipients {
  recipients: readonly Recipient[];
  faults: readonly Fault[];
}

/** Checks the recipients in a request. Of duplicates the first one stays, in the order to, cc, bcc. */
export function readRecipients(asked: AskedRecipients, { mailDomain, max }: RecipientRules): ReadRecipients {
  const given: Recipient[] = [];
  const faults: Fault[] = [];
  const read = (entry: AskedEntry, type: RecipientType, pointer: string) => {
    const recipient = readEntry(entry, { type, pointer, mailDomain }, faults);
    if (recipient !== undefined) given.push(recipient);
  };
  for (const type of recipientTypes) {
    const field = asked[type];
    if (field === undefined) continue;
    if (typeof field === "string") {
      read(field, type, `#/${type}`);
      continue;
    }
    if (type === "to" && field.length === 0) {
      faults.push({ pointer: "#/to", detail: "must have at least one entry" });
    }
    if (field.length > max) faults.push({ pointer: `#/${type}`, detail: `must have at most ${max} entries` });
    // Reads one entry more than the limit, so that a request with a million entries does not get a million faults.
    for (const [index, entry] of field.slice(0, max + 1).entries()) read(entry, type, `#/${type}/${index}`);
  }
  const recipients = differentRecipients(given);
  const passing = recipients[max];
  if (passing !== undefined && faults.length === 0) {
    faults.push({ pointer: `#/${passing.type}`, detail: tooManyRecipients(max) });
  }
  return { recipients, faults };
}

/** Each address once, ignoring case. The first one stays. */
export function differentRecipients(recipients: readonly Recipient[]): readonly Recipient[] {
  if (recipients.length < 2) return recipients;
  const different = new Map<string, Recipient>();
  for (const recipient of recipients) {
    const key = recipient.address.toLowerCase();
    if (!different.has(key)) different.set(key, recipient);
  }
  // Sorts them in the order of the fields: to, cc, bcc.
  return recipientTypes.flatMap((type) => [...different.values()].filter((recipient) => recipient.type === type));
}

export function tooManyRecipients(max: number): string {
  return `makes more than ${max} different recipients in all`;
}

interface EntryPosition {
  type: RecipientType;
  pointer: string;
  mailDomain: string;
}

/** Reads an entry, and adds its faults to `faults`. Undefined if it has any. */
function readEntry(
  entry: AskedEntry,
  { type, pointer, mailDomain }: EntryPosition,
  faults: Fault[],
): Recipient | undefined {
  if (typeof entry === "string") {
    const read = readText(entry, mailDomain);
    if (typeof read !== "string") return { ...read, type };
    faults.push({ pointer, detail: read });
    return undefined;
  }
  const { address: text, name } = entry;
  const address = parseSendAddress(text, mailDomain);
  if (address === undefined) faults.push({ pointer: `${pointer}/address`, detail: notOneAddress });
  const isNamedRight = name === undefined || isDisplayName(name);
  if (!isNamedRight) faults.push({ pointer: `${pointer}/name`, detail: displayNameRule });
  return address === undefined || !isNamedRight ? undefined : { address, name, type };
}

/** The recipient of a text, with or without a name, or else what is wrong with it. */
function readText(text: string, mailDomain: string): Omit<Recipient, "type"> | string {
  const address = parseSendAddress(text, mailDomain);
  if (address !== undefined) return { address, name: undefined };
  const named = parseNamedAddress(text, mailDomain);
  if (named === undefined) return text.endsWith(">") ? notOneNamedAddress : notOneAddress;
  return isDisplayName(named.name) ? named : `must have ${allowedName}, before the address`;
}

const notOneAddress = "must be one email address";
const notOneNamedAddress =
  'must be one email address, or one name and address as in "Jane Doe <jane@example.com>"; a name with any of ()[]:;,\\ and quotes is written in quotes';
