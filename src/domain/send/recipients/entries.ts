import { parseSendAddress } from "../../../standards/address.ts";
import type { Fault } from "../../errors.ts";
import { displayNameRule, isDisplayName } from "./display-name.ts";

export const recipientTypes = ["to", "cc", "bcc"] as const;
export type RecipientType = (typeof recipientTypes)[number];

/** Whom a mail goes to. */
export interface Recipient {
  /** In the form that goes on the wire. */
  address: string;
  name: string | undefined;
  type: RecipientType;
}

/** One recipient as a caller gives him: a bare address, or an address and a name. */
export type AskedEntry = string | { address: string; name?: string | undefined };

/** What a caller says of recipients. One string is one entry. */
export type AskedRecipients = Readonly<Partial<Record<RecipientType, string | readonly AskedEntry[] | undefined>>>;

export interface RecipientRules {
  mailDomain: string;
  /** How many different addresses a mail may have in all. */
  max: number;
}

/** The recipients in their order, and what is wrong with what was asked. Where something is, they are not to be used. */
export interface ReadRecipients {
  recipients: readonly Recipient[];
  faults: readonly Fault[];
}

/** Judges entries and drops doubles: the first of to, cc, bcc stands. */
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
    // As many as can be right, and one more: who sends a million is not told of each.
    for (const [index, entry] of field.slice(0, max + 1).entries()) read(entry, type, `#/${type}/${index}`);
  }
  const recipients = differentRecipients(given);
  const passing = recipients[max];
  if (passing !== undefined && faults.length === 0) {
    faults.push({ pointer: `#/${passing.type}`, detail: tooManyRecipients(max) });
  }
  return { recipients, faults };
}

/** Each address once, without regard to case; the first stands. */
export function differentRecipients(recipients: readonly Recipient[]): readonly Recipient[] {
  if (recipients.length < 2) return recipients;
  const different = new Map<string, Recipient>();
  for (const recipient of recipients) {
    const key = recipient.address.toLowerCase();
    if (!different.has(key)) different.set(key, recipient);
  }
  // Those that stand in the order of their fields, whichever was looked at first.
  return recipientTypes.flatMap((type) => [...different.values()].filter((recipient) => recipient.type === type));
}

export function tooManyRecipients(max: number): string {
  return `makes more than ${max} different recipients in all`;
}

interface Place {
  type: RecipientType;
  pointer: string;
  mailDomain: string;
}

/** Undefined where something is wrong with him, which is added to the faults. */
function readEntry(entry: AskedEntry, { type, pointer, mailDomain }: Place, faults: Fault[]): Recipient | undefined {
  const isBare = typeof entry === "string";
  const { address: text, name } = isBare ? { address: entry, name: undefined } : entry;
  const address = parseSendAddress(text, mailDomain);
  if (address === undefined) {
    faults.push({ pointer: isBare ? pointer : `${pointer}/address`, detail: "must be one email address" });
  }
  const isNamedRight = name === undefined || isDisplayName(name);
  if (!isNamedRight) faults.push({ pointer: `${pointer}/name`, detail: displayNameRule });
  return address === undefined || !isNamedRight ? undefined : { address, name, type };
}
