import type { Config, Environment } from "../../config.ts";
import type { AdminRequest } from "../../control/administer.ts";
import type { DnsClient } from "../../dns/client.ts";
import { publicKeyRecord } from "../../mail/write/dkim.ts";
import type { NameServer } from "../../standards/name-server.ts";
import type { Lookup } from "../../webhook/resolve.ts";
import { checkCells } from "./cells.ts";
import { checkCertificate } from "./certificate.ts";
import { checkConfiguration } from "./configuration.ts";
import { checkDataDir } from "./data-dir.ts";
import { checkDatabase } from "./database.ts";
import { checkDns, checkResolver } from "./dns.ts";
import type { DnsFacts } from "./dns-lookup.ts";
import { checkDocuments } from "./documents.ts";
import { type Finding, findingsOf } from "./finding.ts";
import { checkObjectStore } from "./object-store.ts";
import { checkPorts } from "./ports.ts";
import { checkRelay } from "./relay.ts";
import { checkProgram, checkWebhooks } from "./webhook.ts";

/** The means to find facts that are not in the environment. Tests pass their own. */
export interface Consultation {
  now: () => Date;
  openDns: (servers: readonly NameServer[] | undefined) => Pick<DnsClient, "ask" | "close">;
  /** Sends a request to the server that has opened the embedded database. */
  askServer: (dataDir: string, request: AdminRequest) => Promise<object>;
  lookup?: Lookup;
  /** PEM of the trusted authorities, in place of the system's. */
  ca?: string;
}

/** Runs all checks and changes nothing. A check that throws becomes a finding, and the others still run. */
export async function diagnose(env: Environment, consultation: Consultation): Promise<Finding[]> {
  const read = checkConfiguration(env);
  if ("wrong" in read) return read.wrong;
  const { config, findings } = read;
  const { now, openDns, askServer, lookup, ca } = consultation;
  const dkim = await dkimFacts(config.dkim);
  const dns = openDns(config.dnsServers);
  const at = { ...(lookup && { lookup }), ca };
  const isAuthenticating = authenticatesSenders(config);
  const database = checkDatabase({
    ...config,
    isAuthenticating,
    now,
    askServer: (request) => askServer(config.dataDir, request),
  });
  const webhooks = async () => {
    const { webhookUrls } = await database;
    const urls = config.webhookUrl === undefined ? webhookUrls : [config.webhookUrl, ...webhookUrls];
    return checkWebhooks({ urls, allowPrivate: config.allowPrivateWebhooks, ...at });
  };
  const checks: [check: string, findings: Promise<Finding[]>][] = [
    ["database", database.then((diagnosis) => diagnosis.findings)],
    [
      "object store",
      database.then(({ hasSegments }) => checkObjectStore({ blobs: config.blobs, hasSegments, now: now() })),
    ],
    ["data directory", checkDataDir(config)],
    ["ports", database.then(({ identity }) => checkPorts({ ...config, identity }))],
    ["certificate", checkCertificate({ ...config, now: now() })],
    ["dns", "wrong" in dkim ? Promise.resolve([dkim.wrong]) : checkDns({ ...config, ...dkim }, dns.ask)],
    ["dns resolver", isAuthenticating ? checkResolver(dns.ask) : Promise.resolve([])],
    ["relay", checkRelay({ ...config, ca })],
    ["webhook", webhooks()],
    ["cells", checkCells(config)],
    ["documents", checkDocuments()],
    ["judge", checkProgram("judge", config.judge?.url, at)],
    ["traces", checkProgram("traces", config.otlpEndpoint, at)],
  ];
  const answers = await Promise.all(checks.map(([check, found]) => found.catch((error) => [failed(check, error)])));
  await dns.close();
  return [...findings, ...answers.flat()];
}

function authenticatesSenders({ authenticate, outbound }: Config): boolean {
  return authenticate === "always" || (authenticate === "auto" && outbound.kind !== "sandbox");
}

/** The public key for our signatures, or the fault of the private key. */
async function dkimFacts(
  identity: { selector: string; privateKeyPem: string } | undefined,
): Promise<Pick<DnsFacts, "dkim"> | { wrong: Finding }> {
  if (identity === undefined) return { dkim: undefined };
  const { selector, privateKeyPem } = identity;
  try {
    return { dkim: { selector, record: publicKeyRecord(privateKeyPem) } };
  } catch (error) {
    const reason = error instanceof Error ? error.message : "it cannot be read";
    return { wrong: findingsOf("dns dkim").fail(`DKIM_KEY: ${reason}`, "Create a new key: openssl genrsa 2048") };
  }
}

function failed(check: string, error: unknown): Finding {
  const reason = error instanceof Error ? error.message : String(error);
  return findingsOf(check).fail(`the check itself failed: ${reason}`, "Report this line as a bug");
}
