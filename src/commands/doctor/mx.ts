import type { Ask } from "../../dns/client.ts";
import { mxRecord, zoneLine } from "../../domain/dns-zone.ts";
import type { DnsFacts } from "./dns-facts.ts";
import { type Finding, findingsOf } from "./finding.ts";
import { lookUp, notAnswered, plainName, sameName } from "./look-up.ts";

/** Whether mail for the domain comes to us (RFC 5321 §5.1). */
export async function checkMx({ mailDomain, smtpHostname }: DnsFacts, ask: Ask): Promise<Finding[]> {
  const { ok, warn, fail } = findingsOf("dns mx");
  const records = await lookUp(ask, mailDomain, "MX");
  if ("noAnswer" in records) return [notAnswered("dns mx", mailDomain, records.noAnswer)];
  const wanted = zoneLine(mxRecord(mailDomain, smtpHostname));
  if (records.length === 0) return [fail(`${mailDomain} has no MX record`, `Add: ${wanted}`)];
  const seen = records
    .toSorted((one, other) => one.priority - other.priority)
    .map(({ exchange, priority }) => `${priority} ${plainName(exchange)}.`)
    .join(", ");
  // RFC 7505 §3.
  if (records.every(({ exchange }) => plainName(exchange) === "")) {
    return [fail(`${mailDomain} says that it takes no mail (null MX)`, `Put in its place: ${wanted}`)];
  }
  const ours = records.filter(({ exchange }) => sameName(exchange, smtpHostname)).map(({ priority }) => priority);
  if (ours.length === 0) {
    return [
      fail(
        `mail for ${mailDomain} goes to ${seen} and not to ${smtpHostname}, and so do the bounces of what we send`,
        `Put in their place: ${wanted}\nor set SMTP_HOSTNAME to the name that leads here`,
      ),
    ];
  }
  const others = records.filter(({ exchange }) => !sameName(exchange, smtpHostname));
  if (others.some(({ priority }) => priority <= Math.min(...ours))) {
    return [
      warn(
        `mail for ${mailDomain} goes to ${seen}, and not first of all to ${smtpHostname}`,
        "Remove the other records unless those hosts bring all mail on to this one",
      ),
    ];
  }
  return [ok(`${mailDomain}: ${seen}`)];
}
