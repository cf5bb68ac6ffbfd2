import { type Config, ConfigError, type Environment, readConfig } from "../../config.ts";
import { isLoopbackHost } from "../../standards/host-name.ts";
import { isTestDomain } from "./dns.ts";
import { type Finding, findingsOf } from "./finding.ts";

/** Reads the settings. Returns them with warnings, or only their faults (`wrong`): no other check is then possible. */
export function checkConfiguration(env: Environment): { config: Config; findings: Finding[] } | { wrong: Finding[] } {
  const { ok, fail } = findingsOf("configuration");
  try {
    const config = readConfig(env);
    const findings = oddities(config);
    return { config, findings: findings.length > 0 ? findings : [ok("all settings are valid")] };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { wrong: error.faults.map((fault) => fail(fault, "Correct it: no other check runs before that")) };
  }
}

/** The doctor warns if one address may have more SMTP connections than this, because a process accepts 10,000 in total. */
const manyOfOne = 1000;

const reachable = "Set BASE_URL to the address at which receivers of events and approvers reach the API";

/** Warns of valid settings that are unusual for a public service. */
function oddities(config: Config): Finding[] {
  const { mailDomain, smtpHost, smtpPort, baseUrl, host, operatorInbox } = config;
  const { warn } = findingsOf("configuration");
  if (isTestDomain(mailDomain)) return [];
  const findings: Finding[] = [];
  if (isLoopback(smtpHost)) {
    findings.push(
      warn(
        `SMTP_HOST is ${smtpHost}: only this machine can deliver mail`,
        "Set SMTP_HOST=0.0.0.0 or ::, unless a proxy on this machine delivers the mail",
      ),
    );
  }
  if (smtpPort !== 25) {
    findings.push(
      warn(
        `SMTP_PORT is ${smtpPort}, and other mail servers only connect to port 25`,
        "Set SMTP_PORT=25, or forward port 25 to it",
      ),
    );
  }
  if (config.smtpMaxConnectionsPerAddress > manyOfOne) {
    findings.push(
      warn(
        `SMTP_MAX_CONNECTIONS_PER_ADDRESS is ${config.smtpMaxConnectionsPerAddress}: few senders can use up all connections`,
        "Remove it. For a load balancer, set TRUSTED_PROXIES to its address instead",
      ),
    );
  }
  if (baseUrl === undefined) {
    findings.push(
      warn(`BASE_URL is not set: links to attachments and to pages for approvers begin with http://${host}`, reachable),
    );
  } else if (isLoopbackHost(new URL(baseUrl).hostname)) {
    findings.push(
      warn(`BASE_URL is ${baseUrl}: links to attachments and to pages for approvers lead to this machine`, reachable),
    );
  } else if (baseUrl.startsWith("http:")) {
    findings.push(
      warn(
        "BASE_URL is not https: keys and mail are not encrypted, relays deliver no notices there, and programs cannot sign in",
        "Put the API behind HTTPS, and set BASE_URL to that address",
      ),
    );
  }
  if (operatorInbox === undefined) {
    findings.push(
      warn(
        "OPERATOR_INBOX is not set: mail to postmaster and abuse is refused (RFC 5321 §4.5.1)",
        "Create an inbox for it, and set OPERATOR_INBOX to its username",
      ),
    );
  }
  return findings;
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host.startsWith("127.");
}
