import { shortDigest } from "../../standards/digest.ts";
import { canonicalMessageId } from "../../standards/message-id.ts";
import type { Outbound } from "../outbound.ts";

/**
 * Under which Message-ID a relay hands our mail on: `kept` as it is; `at`: its own id of the mail, at this domain; `told`: kept, unless
 * its own id is a whole Message-ID.
 */
export type RelayNaming = { kind: "kept" } | { kind: "told" } | { kind: "at"; domain: string };

/** `RELAY_MESSAGE_ID`. */
export type NamingSetting = "auto" | "kept" | { domain: string };

/** What is known of the relay. A mail that goes to its recipients' own servers is named by us alone. */
export function relayNaming(setting: NamingSetting, outbound: Outbound): RelayNaming {
  if (setting === "kept" || outbound.kind !== "smtp") return { kind: "kept" };
  if (setting !== "auto") return { kind: "at", domain: setting.domain };
  const [, region] = amazonHost.exec(outbound.host) ?? [];
  if (region !== undefined) return { kind: "at", domain: amazonDomain(region) };
  return { kind: keepsWhenAsked(outbound) ? "kept" : "told" };
}

/** Amazon SES gives each mail a Message-ID of its own, and answers with what stands before the @. */
const amazonHost = /^email-smtp(?:-fips)?\.([a-z0-9-]{1,40})\.amazonaws\.com(?:\.cn)?$/;

function amazonDomain(region: string): string {
  return `${region === "us-east-1" ? "email" : region}.amazonses.com`;
}

/** Whether the mails are known to go out under other names: they then name their conversations by both. */
export function isRenaming({ kind }: RelayNaming): boolean {
  return kind === "at";
}

/** Postmark keeps a Message-ID where a field of the mail asks it to. */
export function keepsWhenAsked(outbound: Outbound): boolean {
  return outbound.kind === "smtp" && outbound.host === "smtp.postmarkapp.com";
}

/** The other Message-ID of a mail that the relay calls so; undefined where it has none. */
export function wireNameOf(
  naming: RelayNaming,
  providerMessageId: string | undefined,
  rfcMessageId: string,
): string | undefined {
  if (providerMessageId === undefined || naming.kind === "kept") return undefined;
  const isWhole = providerMessageId.includes("@");
  if (naming.kind === "told" && !isWhole) return undefined;
  const name = canonicalMessageId(
    naming.kind === "at" && !isWhole ? `${providerMessageId}@${naming.domain}` : providerMessageId,
  );
  return name === canonicalMessageId(rfcMessageId) ? undefined : name;
}

/** What others call a mail of ours, as it is kept: by its hash it is found. */
export interface OtherName {
  /** Bare. */
  name: string;
  nameHash: string;
}

/** Of a Message-ID, or of what a relay calls a mail; undefined where it is empty. */
export function otherName(text: string): OtherName | undefined {
  const name = canonicalMessageId(text);
  return name === undefined ? undefined : { name, nameHash: shortDigest(name) };
}
