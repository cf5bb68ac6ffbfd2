import { commandLine as actor } from "../domain/access/actor.ts";
import { wantedRecords, zoneFile } from "../domain/domains/records.ts";
import { notFound, Refusal } from "../domain/errors.ts";
import { isId } from "../domain/ids.ts";
import type { Plan } from "../domain/limits.ts";
import { accountNamed } from "../flows/account/manage-accounts.ts";
import {
  addDomain,
  type DomainDeps,
  removeDomain,
  rotateDkim,
  type ShownDomain,
  shownDomain,
  verifyDomain,
  verifyWithoutDns,
} from "../flows/domains/manage-domains.ts";
import { asShown, shownDomains } from "../flows/domains/shown-domain.ts";
import { findDomainByName } from "../store/account/domains.ts";

type Arguments = Readonly<Record<string, string | undefined>>;

export interface DomainAdminDeps {
  domains: DomainDeps;
}

/** The operations of the command line on domains: those of an account, or with `shared` those of the service. */
export const domainOperations = {
  async "domain add"({ domains }: DomainAdminDeps, given: Arguments) {
    const { owner, plan } = await ownerOf(domains, given);
    const { name = "", returnPath, subdomains } = given;
    const { domain } = await addDomain(domains, {
      owner,
      actor,
      plan,
      name,
      returnPath,
      subdomains: subdomains === undefined ? undefined : true,
    });
    return asShown(domains, owner, domain);
  },
  async "domain list"({ domains }: DomainAdminDeps, given: Arguments) {
    const { owner } = await ownerOf(domains, given);
    const page = { owner, status: undefined, limit: mostListed, offset: 0 };
    return (await shownDomains(domains, page)).data;
  },
  async "domain show"({ domains }: DomainAdminDeps, given: Arguments) {
    const { owner, domain } = await domainNamed(domains, given);
    return asShown(domains, owner, domain);
  },
  async "domain zone"({ domains }: DomainAdminDeps, given: Arguments) {
    const { domain } = await domainNamed(domains, given);
    return { zone: zoneFile(wantedRecords(domain, domain.keys, domains.names)) };
  },
  async "domain verify"({ domains }: DomainAdminDeps, given: Arguments) {
    const { owner, domain } = await domainNamed(domains, given);
    const verify = given.withoutDns === undefined ? verifyDomain : verifyWithoutDns;
    return asShown(domains, owner, await verify(domains, { owner, actor }, domain.id));
  },
  async "domain rotate-dkim"({ domains }: DomainAdminDeps, given: Arguments) {
    const { owner, domain } = await domainNamed(domains, given);
    const days = given.retireDays === undefined ? undefined : Number(given.retireDays);
    if (days !== undefined && !(/^\d{1,2}$/.test(given.retireDays ?? "") && days <= 30)) {
      throw new Refusal("validation_error", "Cannot rotate key: its days must be 0 to 30");
    }
    return asShown(domains, owner, await rotateDkim(domains, { owner, actor }, domain.id, days));
  },
  async "domain remove"({ domains }: DomainAdminDeps, given: Arguments) {
    const { owner, domain } = await domainNamed(domains, given);
    await removeDomain(domains, { owner, actor }, domain.id);
    return { id: domain.id, domain: domain.name, removed: true };
  },
};

const mostListed = 1_000;

async function ownerOf(deps: DomainDeps, { account, shared }: Arguments) {
  if (shared !== undefined) return { owner: null, plan: undefined };
  const { id, plan } = await accountNamed(deps, account);
  return { owner: id, plan: plan as Plan };
}

/** The domain with this name or id. */
async function domainNamed(deps: DomainDeps, given: Arguments): Promise<{ owner: string | null; domain: ShownDomain }> {
  const { owner } = await ownerOf(deps, given);
  const name = (given.name ?? "").toLowerCase();
  const id = isId("dom", name) ? name : (await findDomainByName(deps.db.api, owner, name))?.id;
  const domain = id === undefined ? undefined : await shownDomain(deps, owner, id);
  if (domain === undefined || domain.accountId !== owner) throw notFound("domain");
  return { owner, domain };
}
