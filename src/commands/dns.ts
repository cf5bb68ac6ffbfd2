import { type Command, InvalidArgumentError } from "commander";
import type { Schemas } from "../../sdk/typescript/src/inboxd.ts";
import { readConfig } from "../config.ts";
import { zoneBlock, zoneOf } from "../domain/dns-zone.ts";
import { publicKeyRecord } from "../mail/write/dkim.ts";
import { isIpAddress } from "../standards/ip.ts";
import { admin } from "./admin.ts";
import { type OfOwner, ofOwner, ownerIn } from "./domains.ts";
import { jsonOf, print } from "./terminal.ts";

export function dnsCommand(program: Command): void {
  ofOwner(program.command("dns"))
    .description("print the DNS records for MAIL_DOMAIN, to paste into its zone")
    .option("--domain <name>", "the records of an own domain instead, by its name or id")
    .option("--ip <address>", "public address of this machine; may be repeated, for IPv4 and IPv6", addAddress, [])
    .option("--json", "print JSON")
    .action(async ({ ip, json = false, domain, ...owner }: DnsOptions) => {
      if (domain !== undefined) return printOwn(domain, owner, json);
      const { mailDomain, smtpHostname, outbound, dkim } = readConfig(process.env);
      const facts = {
        mailDomain,
        smtpHostname,
        outbound,
        addresses: ip,
        dkim: dkim && { selector: dkim.selector, record: publicKeyRecord(dkim.privateKeyPem) },
      };
      print(json ? jsonOf(zoneOf(facts), 2) : zoneBlock(facts));
    });
}

interface DnsOptions extends OfOwner {
  ip: string[];
  json?: boolean;
  domain?: string;
}

/** Prints the records of an own domain, which the database has. */
async function printOwn(name: string, owner: OfOwner, json: boolean): Promise<void> {
  const given = { name, ...ownerIn(owner) };
  if (json) {
    const { records } = (await admin({ operation: "domain show", arguments: given })) as Schemas["Domain"];
    return print(jsonOf(records, 2));
  }
  const { zone } = (await admin({ operation: "domain zone", arguments: given })) as { zone: string };
  print(zone);
}

function addAddress(text: string, before: string[]): string[] {
  if (!isIpAddress(text)) throw new InvalidArgumentError("It must be an IPv4 or IPv6 address.");
  return [...before, text];
}
