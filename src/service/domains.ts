import type { Config } from "../config.ts";
import { systemServers } from "../dns/client.ts";
import { zoneQuestions } from "../dns/zones.ts";
import type { Deps } from "../flows/deps.ts";
import type { DomainDeps } from "../flows/domains/manage-domains.ts";
import { isPublicAddress } from "../standards/ip.ts";

interface Opened {
  config: Config;
  deps: Deps;
  checked?: DomainDeps["checked"];
  /** Ends the questions to name servers. */
  signal: AbortSignal;
}

/** The dependencies of domains and their checks. */
export function openDomains({ config, deps, checked, signal }: Opened): DomainDeps {
  return {
    ...deps,
    names: config,
    isSandbox: config.outbound.kind === "sandbox",
    domainGraceHours: config.domainGraceHours,
    checked,
    openQuestions: async () =>
      zoneQuestions({
        resolvers: config.dnsServers ?? (await systemServers()),
        resolversAlone: config.dnsServers !== undefined,
        isAllowed: (address) => config.allowPrivateWebhooks || isPublicAddress(address),
        randomBytes: deps.randomBytes,
        signal,
      }),
  };
}
