import { type Command, Option } from "commander";
import type { Schemas } from "../../sdk/typescript/src/inboxd.ts";
import { admin } from "./admin.ts";
import { type OfAccount, ofAccount, reporting } from "./cli.ts";
import { shortTime } from "./short-time.ts";

type Domain = Schemas["Domain"];

export interface OfOwner extends OfAccount {
  shared?: true;
}

/** Adds `--account` and `--shared`. */
export function ofOwner(command: Command): Command {
  return ofAccount(command).addOption(
    new Option("--shared", "a domain of the service, which all accounts may use").conflicts("account"),
  );
}

/** The owner, as the operations take it. */
export function ownerIn({ account, shared }: OfOwner) {
  return { account, shared: shared && "1" };
}

export function domainCommands(program: Command): void {
  const domain = program.command("domain").description("manage own domains, and those that all accounts share");
  reporting(
    ofOwner(domain.command("add <name>"))
      .description("add a domain and print the DNS records to publish")
      .option("--return-path <label>", "the label before it to which bounces come (default: bounces)")
      .option("--subdomains", "inboxes may have any name below it"),
    (name: string, { returnPath, subdomains, ...owner }: OfOwner & { returnPath?: string; subdomains?: true }) =>
      asked("domain add", { name, returnPath, subdomains: subdomains && "1", ...ownerIn(owner) }),
    textOf,
  );
  reporting(
    ofOwner(domain.command("list")).description("list domains, newest first"),
    async (owner: OfOwner) => (await admin({ operation: "domain list", arguments: ownerIn(owner) })) as Domain[],
    (domains, calendar) =>
      domains.map(({ domain, status, sending, receiving, shared, inboxCount, checkedAt, id }) => {
        const name = shared ? `${domain} (shared)` : domain;
        return {
          domain: name,
          status,
          sending,
          receiving,
          inboxes: inboxCount,
          checked: shortTime(checkedAt, calendar),
          id,
        };
      }),
  );
  reporting(
    ofOwner(domain.command("show <domain>")).description("print a domain with its DNS records, by its name or id"),
    (name: string, owner: OfOwner) => asked("domain show", { name, ...ownerIn(owner) }),
    textOf,
  );
  reporting(
    ofOwner(domain.command("verify <domain>"))
      .description("check the DNS records of a domain now")
      .option("--without-dns", "take the domain as proven without the DNS, for a lab; it is not checked any more"),
    (name: string, { withoutDns, ...owner }: OfOwner & { withoutDns?: true }) =>
      asked("domain verify", { name, withoutDns: withoutDns && "1", ...ownerIn(owner) }),
    textOf,
  );
  reporting(
    ofOwner(domain.command("rotate-dkim <domain>"))
      .description("make a second DKIM key, which signs once its record is published")
      .option("--retire-days <days>", "the days for which the old record stays, 0 to 30 (default: 7)"),
    (name: string, { retireDays, ...owner }: OfOwner & { retireDays?: string }) =>
      asked("domain rotate-dkim", { name, retireDays, ...ownerIn(owner) }),
    textOf,
  );
  reporting(
    ofOwner(domain.command("remove <domain>")).description("remove a domain that has no inboxes, and destroy its keys"),
    (name: string, owner: OfOwner) => admin({ operation: "domain remove", arguments: { name, ...ownerIn(owner) } }),
  );
}

type Operation = "domain add" | "domain show" | "domain verify" | "domain rotate-dkim";

async function asked(operation: Operation, given: Readonly<Record<string, string | undefined>>): Promise<Domain> {
  return (await admin({ operation, arguments: given })) as Domain;
}

/** A domain as text: a line about it, and a paragraph for each record. */
function textOf({ domain, id, status, sending, receiving, records }: Domain): string {
  const head = `${domain}  ${status}, sending ${words(sending)}, receiving ${words(receiving)}  ${id}\n`;
  return [head, ...records.map(recordText)].join("\n");
}

function words(readiness: string): string {
  return readiness.replace("_", " ");
}

function recordText({
  purpose,
  required,
  type,
  name,
  host,
  value,
  priority,
  status,
  problem,
  hint,
  found,
}: Domain["records"][number]): string {
  const lines = [
    `${purpose.replace("_", " ")}: ${problem ?? status}${required ? " (required)" : ""}`,
    `  ${type} ${host === null || host === "@" ? name : `${name} (host ${host})`}`,
    `  ${priority === null ? "" : `${priority} `}${value}`,
    ...(found.length > 0 && status !== "valid" ? [`  found: ${found.join(" | ")}`] : []),
    ...(hint === null ? [] : [`  ${hint}`]),
  ];
  return `${lines.join("\n")}\n`;
}
