import { type Command, InvalidArgumentError } from "commander";
import { readConfig } from "../config.ts";
import { zoneBlock, zoneOf } from "../domain/dns-zone.ts";
import { publicKeyRecord } from "../mail/write/dkim.ts";
import { isIpAddress } from "../standards/ip.ts";
import { jsonOf, print } from "./terminal.ts";

export function dnsCommand(program: Command): void {
  program
    .command("dns")
    .description("print the DNS records for MAIL_DOMAIN, to paste into its zone")
    .option("--ip <address>", "public address of this machine; may be repeated, for IPv4 and IPv6", addAddress, [])
    .option("--json", "print JSON")
    .action(({ ip, json = false }: { ip: string[]; json?: boolean }) => {
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

function addAddress(text: string, before: string[]): string[] {
  if (!isIpAddress(text)) throw new InvalidArgumentError("It must be an IPv4 or IPv6 address.");
  return [...before, text];
}
