import { type Config, ConfigError, type Environment, readConfig } from "../../config.ts";
import { isForTrying } from "./dns.ts";
import { type Finding, findingsOf } from "./finding.ts";

/** The settings, or each that is wrong by its name: nothing else can be looked at until they are right. */
export function checkConfiguration(env: Environment): { config: Config; findings: Finding[] } | { wrong: Finding[] } {
  const { ok, fail } = findingsOf("configuration");
  try {
    const config = readConfig(env);
    const findings = oddities(config);
    return { config, findings: findings.length > 0 ? findings : [ok("every setting can be read")] };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { wrong: error.faults.map((fault) => fail(fault, "Correct it: nothing else is looked at until then")) };
  }
}

/** A process takes 10,000 connections in all. */
const manyOfOne = 1000;

/** What is allowed, and yet not what a service for others would have. */
function oddities(config: Config): Finding[] {
  const { mailDomain, smtpHost, smtpPort, baseUrl, host, operatorInbox } = config;
  const { warn } = findingsOf("configuration");
  if (isForTrying(mailDomain)) return [];
  const findings: Finding[] = [];
  if (isLoopback(smtpHost)) {
    findings.push(
      warn(
        `SMTP_HOST is ${smtpHost}: mail comes in from this machine alone`,
        "Set SMTP_HOST=0.0.0.0 or ::, unless a proxy on this machine brings the mail",
      ),
    );
  }
  if (smtpPort !== 25) {
    findings.push(
      warn(
        `SMTP_PORT is ${smtpPort}, and other mail servers connect to port 25 only`,
        "Set SMTP_PORT=25, or forward port 25 to it",
      ),
    );
  }
  if (config.smtpMaxConnectionsPerAddress > manyOfOne) {
    findings.push(
      warn(
        `SMTP_MAX_CONNECTIONS_PER_ADDRESS is ${config.smtpMaxConnectionsPerAddress}: few senders can take all connections`,
        "Set TRUSTED_PROXIES to the address of your balancer, if that is why, and leave this one out",
      ),
    );
  }
  if (baseUrl === undefined) {
    findings.push(
      warn(
        `BASE_URL is not set: the addresses of attachments begin with http://${host}`,
        "Set BASE_URL to the address that receivers of events reach the API by",
      ),
    );
  }
  if (baseUrl?.startsWith("http:") === true) {
    findings.push(
      warn(
        "BASE_URL is not https: keys and mail go over the network as they are, and no relay brings its notices there",
        "Put the API behind HTTPS, and set BASE_URL to that address",
      ),
    );
  }
  if (operatorInbox === undefined) {
    findings.push(
      warn(
        "OPERATOR_INBOX is not set: mail to postmaster and abuse is refused (RFC 5321 §4.5.1)",
        "Make an inbox for it and set OPERATOR_INBOX to its username",
      ),
    );
  }
  return findings;
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host.startsWith("127.");
}
