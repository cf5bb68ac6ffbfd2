import { shortDigest } from "../../standards/digest.ts";
import { canonicalMessageId } from "../../standards/message-id.ts";
import type { Outbound } from "../outbound.ts";

/**
 * The Message-ID with which a relay sends our mail. `kept`: our own. `at`: `<the relay's id of the mail>@<domain>`. `answered`: the id in
 * the relay's answer if it is a whole Message-ID (it has an @), otherwise our own.
 */
export type RelayNaming = { kind: "kept" } | { kind: "answered" } | { kind: "at"; domain: string };

/** The setting `RELAY_MESSAGE_ID`. */
export type NamingSetting = "auto" | "kept" | { domain: string };

/** The naming of the configured relay. Mail that goes directly to the servers of its recipients keeps our Message-ID. */
export function relayNaming(setting: NamingSetting, outbound: Outbound): RelayNaming {
  if (setting === "kept" || outbound.kind !== "smtp") return { kind: "kept" };
  if (setting !== "auto") return { kind: "at", domain: setting.domain };
  const [, region] = amazonHost.exec(outbound.host) ?? [];
  if (region !== undefined) return { kind: "at", domain: amazonDomain(region) };
  return { kind: keepsWhenAsked(outbound) ? "kept" : "answered" };
}

/** Amazon SES gives each mail its own Message-ID, and answers with the part before the @. */
const amazonHost = /^email-smtp(?:-fips)?\.([a-z0-9-]{1,40})\.amazonaws\.com(?:\.cn)?$/;

function amazonDomain(region: string): string {
  return `${region === "us-east-1" ? "email" : region}.amazonses.com`;
}

/** Whether the relay certainly gives each mail another Message-ID. The References of our mail then have both ids. */
export function isRenaming({ kind }: RelayNaming): boolean {
  return kind === "at";
}

/** Whether the relay keeps our Message-ID if a header of the mail requests it. Only Postmark does. */
export function keepsWhenAsked(outbound: Outbound): boolean {
  return outbound.kind === "smtp" && outbound.host === "smtp.postmarkapp.com";
}

/** The Message-ID that the relay gave a mail, from the relay's own id of the mail. Undefined if the mail kept ours. */
export function wireNameOf(
  naming: RelayNaming,
  providerMessageId: string | undefined,
  rfcMessageId: string,
): string | undefined {
  if (providerMessageId === undefined || naming.kind === "kept") return undefined;
  const isWhole = providerMessageId.includes("@");
  if (naming.kind === "answered" && !isWhole) return undefined;
  const name = canonicalMessageId(
    naming.kind === "at" && !isWhole ? `${providerMessageId}@${naming.domain}` : providerMessageId,
  );
  return name === canonicalMessageId(rfcMessageId) ? undefined : name;
}

/** Another Message-ID or id of one of our mails. The mail is found by the hash of this name. */
export interface OtherName {
  /** The name without angle brackets. */
  name: string;
  nameHash: string;
}

/** Makes a name from a Message-ID or from a relay's own id of a mail; undefined if it is empty. */
export function otherName(text: string): OtherName | undefined {
  const name = canonicalMessageId(text);
  return name === undefined ? undefined : { name, nameHash: shortDigest(name) };
}
