import { type ZoneRecord, zoneLine } from "../dns-zone.ts";
import type { RecordProblem, SeenRecord } from "./seen-record.ts";

export const recordTypes = ["TXT", "MX", "CNAME"] as const;

/** A DNS record that a domain is asked to have. */
export interface WantedRecord {
  purpose: SeenRecord["purpose"];
  /** Whether the domain is proven by it. */
  required: boolean;
  type: (typeof recordTypes)[number];
  name: string;
  /** Plain, without quotes and without a dot at the end. */
  value: string;
  priority: number | null;
  /** For a DKIM record: the state of its key, and when a retiring one ends. */
  key?: Pick<PublishedKey, "state" | "retiresAt">;
}

export interface DomainNames {
  name: string;
  /** The label of the return path's host. */
  returnPath: string;
  subdomains: boolean;
}

/** The public half of a DKIM key. */
export interface PublishedKey {
  selector: string;
  state: "active" | "next" | "retiring";
  publicKey: string;
  retiresAt: Date | null;
}

export interface ServiceNames {
  mailDomain: string;
  smtpHostname: string;
}

/** The records of a domain, in the order in which a person publishes them. */
export function wantedRecords(
  { name, returnPath, subdomains }: DomainNames,
  keys: readonly PublishedKey[],
  { mailDomain, smtpHostname }: ServiceNames,
): WantedRecord[] {
  const inOrder = keyStates.flatMap((state) => keys.filter((key) => key.state === state));
  const mx = (host: string): WantedRecord => ({
    purpose: "mx",
    required: false,
    type: "MX",
    name: host,
    value: smtpHostname,
    priority: 10,
  });
  return [
    ...inOrder.map(
      (key): WantedRecord => ({
        purpose: "dkim",
        required: key.state === "active",
        type: "TXT",
        name: selectorName(key.selector, name),
        value: `v=DKIM1; k=rsa; p=${key.publicKey}`,
        priority: null,
        key,
      }),
    ),
    mx(name),
    ...(subdomains ? [mx(anyBelow(name))] : []),
    {
      purpose: "return_path",
      required: false,
      type: "CNAME",
      name: `${returnPath}.${name}`,
      value: mailDomain,
      priority: null,
    },
    {
      purpose: "dmarc",
      required: false,
      type: "TXT",
      name: `_dmarc.${name}`,
      value: "v=DMARC1; p=none",
      priority: null,
    },
  ];
}

const keyStates = ["active", "next", "retiring"] as const;

/** The name of the DNS record of a DKIM key (RFC 6376 §3.6.2.1). */
export function selectorName(selector: string, domain: string): string {
  return `${selector}._domainkey.${domain}`;
}

/** The wildcard name for all names below a domain (RFC 4592). */
export function anyBelow(domain: string): string {
  return `*.${domain}`;
}

/** A wanted record with what the last check found. */
export interface ShownRecord extends Omit<WantedRecord, "key"> {
  /** The name without that of the zone, as the forms of registrars ask for it; `@` for the zone itself. Null until the zone is known. */
  host: string | null;
  status: SeenRecord["status"] | "unchecked";
  problem: RecordProblem | null;
  hint: string | null;
  found: readonly string[];
}

export function shownRecords(
  wanted: readonly WantedRecord[],
  { zone, recordsSeen }: { zone: string | null; recordsSeen: readonly SeenRecord[] },
): ShownRecord[] {
  return wanted.map(({ key, ...record }) => {
    const seen = recordsSeen.find(({ purpose, name }) => purpose === record.purpose && name === record.name);
    return {
      ...record,
      host: zone === null ? null : hostIn(record.name, zone),
      status: seen?.status ?? "unchecked",
      problem: seen?.problem ?? null,
      hint: hintOf(record, key, seen),
      found: seen?.found ?? [],
    };
  });
}

function hostIn(name: string, zone: string): string {
  if (name === zone) return "@";
  return name.endsWith(`.${zone}`) ? name.slice(0, -zone.length - 1) : name;
}

/** A sentence about what to do. A problem comes first, then the state of the key of a rotation. */
function hintOf(
  record: Omit<WantedRecord, "key">,
  key: WantedRecord["key"],
  seen: SeenRecord | undefined,
): string | null {
  const problem = seen?.problem ?? null;
  if (problem !== null) return hints[problem](record);
  if (key?.state === "next")
    return "Publish this record beside the first one. Mail is signed with its key once it is found.";
  if (key?.state === "retiring" && key.retiresAt !== null) {
    return `Keep this record until ${key.retiresAt.toISOString().slice(0, 10)}: mail that was sent before is still verified with it.`;
  }
  if (seen?.status !== "missing") return null;
  return record.required || record.purpose === "mx"
    ? "No record was found. Publish this one."
    : optionalHints[record.purpose];
}

const optionalHints: Record<SeenRecord["purpose"], string> = {
  dkim: "No record was found. Publish this one.",
  mx: "No record was found. Publish this one to receive mail.",
  return_path: "No record was found. With this one bounces come back to the domain itself, and SPF agrees with it.",
  dmarc: "No record was found. Large receivers want one.",
};

const hints: Record<RecordProblem, (record: Omit<WantedRecord, "key">) => string> = {
  doubled_name: ({ name }) =>
    `The form added the zone to the name, so that it stands there twice. Enter the part in "host", and not ${name}.`,
  quoted: () => "Remove the quotation marks from the value: the form adds them by itself.",
  truncated: () =>
    "The value ends too early. Enter all of it, if need be in several strings of at most 255 characters.",
  several: ({ purpose }) =>
    purpose === "dmarc"
      ? "There are several DMARC records, and receivers ignore all of them. Leave one."
      : "There are several records at this name, and receivers may take any of them. Leave only this one.",
  other_value: ({ purpose }) =>
    purpose === "dmarc"
      ? "The DMARC record has no valid policy. Replace it with this one."
      : "The record has another value. Replace it with this one.",
  revoked: () => 'The record has an empty "p=", which revokes the key. Replace it with this one.',
  other_server: ({ value }) =>
    `Mail for this name goes to other servers. If people receive mail there, take a subdomain for this service; otherwise leave only the record to ${value}.`,
  alias: ({ value }) => `The MX record leads to an alias (CNAME), which mail servers refuse. Enter ${value} itself.`,
  proxied: () => "The name has addresses instead of the CNAME record. Switch the proxy of the DNS provider off for it.",
  not_everywhere: () => "The name servers of the zone give different answers. Wait until all of them have the change.",
  wildcard: () =>
    "A wildcard record answers for every name, so that no record proves anything. Remove the wildcard at or above _domainkey.",
  taken: () =>
    "The record is right, but another account has this domain, and its record is published too. Remove the other one's DKIM record to move the domain here.",
  no_answer: () => "The name servers gave no answer. The next check asks again.",
};

/** The records as lines of a zone file. */
export function zoneFile(records: readonly WantedRecord[]): string {
  return records.map((record) => `${zoneLine(asZoneRecord(record))}\n`).join("");
}

function asZoneRecord({ name, type, value, priority }: WantedRecord): ZoneRecord {
  if (type === "TXT") return { name, type, value };
  return { name, type, value: type === "MX" ? `${priority} ${value}.` : `${value}.` };
}
