import { readConfig } from "../../config.ts";
import { dnsClient } from "../../dns/client.ts";
import type { Authentication } from "../../domain/receive/authentication.ts";
import { type AuthenticationStep, authenticateMail } from "../../mail/authenticate/authenticate.ts";
import { realWorld } from "../../service/time-and-chance.ts";

export interface SentBy {
  ip?: string;
  from?: string;
  helo?: string;
}

export interface Checked {
  authentication: Authentication;
  steps: readonly AuthenticationStep[];
}

/** Authenticates the mail in a file with the DNS and the settings of the service. */
export async function checkFile(path: string, { ip, from = "", helo = "" }: SentBy): Promise<Checked> {
  const config = readConfig(process.env);
  const raw = path === "-" ? await Bun.stdin.bytes() : await Bun.file(path).bytes();
  const dns = dnsClient({ ...realWorld, servers: config.dnsServers });
  const steps: AuthenticationStep[] = [];
  try {
    const client = { address: ip, heloName: helo.toLowerCase(), isTls: false, isTrusted: false };
    const authentication = await authenticateMail(
      { raw, from, client },
      {
        resolve: dns.ask,
        now: realWorld.now(),
        settings: {
          timeoutMs: mostMs,
          hostname: config.smtpHostname,
          trustedSealers: config.trustedArcSealers,
          trustedAuthservIds: config.trustedAuthservIds,
        },
        onStep: (step) => steps.push(step),
      },
    );
    return { authentication, steps };
  } finally {
    await dns.close();
  }
}

/** Longer than AUTH_TIMEOUT_MS, so that the steps show how slow the DNS is. */
const mostMs = 20_000;
