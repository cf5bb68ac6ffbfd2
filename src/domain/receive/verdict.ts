import { asciiDomain, splitAddress } from "../../standards/address.ts";
import type { Mailbox } from "../message.ts";
import type { Authentication, Verdict } from "./authentication.ts";

/** The findings of the checks of a mail, which decide its verdict. */
export interface Findings {
  /** Whether From has exactly one address with a valid domain. */
  hasDomain: boolean;
  /** Whether the domain in From publishes DMARC. */
  record: "found" | "none" | "unknown";
  /** The SPF check and the DKIM signatures. */
  checks: readonly Check[];
  /** Whether a trusted sealer says that the mail passed on its arrival there (RFC 8617). */
  isVouchedFor: boolean;
}

/** One SPF or DKIM check, and whether it is about the domain in From. */
export interface Check {
  /** `unknown`: the DNS did not answer in time. */
  result: "pass" | "unknown" | "other";
  alignment: "aligned" | "other" | "unknown";
}

/**
 * The verdict about the domain in From. A failure of the DNS counts only for a check that could prove this domain, so that a slow domain in
 * the envelope cannot turn `fail` into `temperror`.
 */
export function verdictOf({ hasDomain, record, checks, isVouchedFor }: Findings): Verdict {
  if (!hasDomain) return "fail";
  if (checks.some(({ result, alignment }) => result === "pass" && alignment === "aligned")) return "pass";
  if (isVouchedFor) return "pass";
  const couldStillPass = checks.some(({ result, alignment }) => result !== "other" && alignment !== "other");
  if (record === "unknown" || couldStillPass) return "temperror";
  return record === "found" ? "fail" : "none";
}

/** The domain of an address, in lower case and with A-labels; undefined if it is not a valid host name. */
export function domainOfAddress(address: string): string | undefined {
  return asciiDomain(splitAddress(address)?.domain ?? "");
}

/**
 * The authentication for the sender that the API shows. If that address has another domain than the one that was judged, because the
 * header can be read in two ways, nothing is proven.
 */
export function forShownSender(authentication: Authentication, shown: Mailbox | undefined): Authentication {
  if (authentication.internal) return authentication;
  if (authentication.domain === null || domainOfAddress(shown?.address ?? "") === authentication.domain) {
    return authentication;
  }
  return { ...authentication, verdict: "fail", domain: null };
}
