import type { Ask } from "../../dns/client.ts";
import { ptrRecord, reverseName, zoneLine } from "../../domain/dns-zone.ts";
import { isPublicAddress } from "../../standards/ip.ts";
import { type DnsFacts, lookUp, notAnswered, sameName } from "./dns-lookup.ts";
import { type Finding, findingsOf } from "./finding.ts";

/** Checks that the host of the MX has public addresses, and that their reverse names match. */
export async function checkHost({ smtpHostname, outbound }: DnsFacts, ask: Ask): Promise<Finding[]> {
  const { ok, warn, fail } = findingsOf("dns address");
  const [v4, v6, aliases] = await Promise.all([
    lookUp(ask, smtpHostname, "A"),
    lookUp(ask, smtpHostname, "AAAA"),
    lookUp(ask, smtpHostname, "CNAME"),
  ]);
  const addresses = [v4, v6].flatMap((answer) => ("noAnswer" in answer ? [] : answer));
  if (addresses.length === 0) {
    if ("noAnswer" in v4) return [notAnswered("dns address", smtpHostname, v4.noAnswer)];
    return [
      fail(
        `${smtpHostname} has no address`,
        `Add: ${smtpHostname}. 3600 IN A <the public address of this machine> (inboxd dns --ip <address> prints it)`,
      ),
    ];
  }
  const hidden = addresses.filter((address) => !isPublicAddress(address));
  const findings: Finding[] = [];
  if (hidden.length > 0) {
    const seen = `${smtpHostname} has ${hidden.join(", ")}, which nobody can reach from outside`;
    findings.push(fail(seen, "Set its A and AAAA records to the public address of this machine"));
  } else if (!("noAnswer" in aliases) && aliases.length > 0) {
    const seen = `${smtpHostname} is an alias (CNAME) of ${aliases.join(", ")}, which an MX must not be`;
    findings.push(
      warn(
        seen,
        `Replace it with: ${addresses.map((address) => `${smtpHostname}. 3600 IN ${address.includes(":") ? "AAAA" : "A"} ${address}`).join("\n")}`,
      ),
    );
  } else findings.push(ok(`${smtpHostname}: ${addresses.join(", ")}`));
  const reachable = addresses.filter(isPublicAddress);
  return [
    ...findings,
    ...(await Promise.all(reachable.map((address) => checkPtr(address, smtpHostname, outbound.kind, ask)))),
  ];
}

/**
 * Checks the reverse name of an address. Receivers refuse mail from an address without one. With a relay it does not matter, because mail
 * comes from the address of the relay.
 */
async function checkPtr(
  address: string,
  hostname: string,
  outbound: DnsFacts["outbound"]["kind"],
  ask: Ask,
): Promise<Finding> {
  const { ok, warn, fail } = findingsOf("dns ptr");
  const names = await lookUp(ask, reverseName(address), "PTR");
  if ("noAnswer" in names) return notAnswered("dns ptr", address, names.noAnswer);
  if (names.some((name) => sameName(name, hostname))) return ok(`${address}: ${hostname}`);
  const seen = `${address} has the reverse name ${names.join(", ") || "(none)"}`;
  if (outbound === "smtp") return ok(`${seen}; mail goes through the relay, which has its own`);
  const line = zoneLine(ptrRecord(address, hostname));
  const todo = `Ask the provider of the address to set its reverse name: ${line}`;
  return outbound === "direct" ? fail(`${seen}, not ${hostname}`, todo) : warn(`${seen}, not ${hostname}`, todo);
}
