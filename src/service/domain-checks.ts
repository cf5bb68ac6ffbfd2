import { systemServers } from "../dns/client.ts";
import { zoneQuestions } from "../dns/zones.ts";
import type { DomainDeps } from "../flows/domains/manage-domains.ts";
import { isPublicAddress } from "../standards/ip.ts";
import type { Opening } from "./opening.ts";

/** What domains and their checks need. `close` ends their questions, and must run before the checks are stopped, which wait for them. */
export function openDomainChecks({ config, deps, watch }: Opening): { deps: DomainDeps; close: () => void } {
  const closing = new AbortController();
  return {
    deps: {
      ...deps,
      names: config,
      isSandbox: config.outbound.kind === "sandbox",
      domainGraceHours: config.domainGraceHours,
      checked: watch.domainChecked,
      openQuestions: async () =>
        zoneQuestions({
          resolvers: config.dnsServers ?? (await systemServers()),
          resolversAlone: config.dnsServers !== undefined,
          isAllowed: (address) => config.allowPrivateWebhooks || isPublicAddress(address),
          randomBytes: deps.randomBytes,
          signal: closing.signal,
        }),
    },
    close: () => closing.abort(),
  };
}
