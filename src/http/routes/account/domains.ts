import { Type } from "@sinclair/typebox";
import { isWholeAccount, type Reach } from "../../../domain/access/access.ts";
import { domainStatuses } from "../../../domain/domains/readiness.ts";
import { wantedRecords, zoneFile } from "../../../domain/domains/records.ts";
import { notFound } from "../../../domain/errors.ts";
import { isId } from "../../../domain/ids.ts";
import {
  addDomain,
  changeDomain,
  type DomainDeps,
  removeDomain,
  rotateDkim,
  type ShownDomain,
  shownDomain,
  verifyDomain,
} from "../../../flows/domains/manage-domains.ts";
import { asShown, shownDomains } from "../../../flows/domains/shown-domain.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { api } from "../../shell/app.ts";
import { whetherThere } from "../../shell/described-operation.ts";
import { idPath, nothing, oneOf, pageQuery, text, totalCount } from "../../shell/models.ts";
import { operation } from "../../shell/operation.ts";
import { DomainShape } from "./domain-shape.ts";

const subdomains = Type.Boolean({
  description: "Whether inboxes may have any name below the domain. It adds a wildcard MX record",
  examples: [false],
});

const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

export const NewDomain = named(
  "NewDomain",
  Type.Object(
    {
      domain: text({
        max: 255,
        description: "Its name. Labels in other scripts become A-labels",
        examples: [examples.domain],
      }),
      returnPath: Type.Optional(
        text({
          max: 63,
          pattern: label.source,
          description: "The label before the domain to which bounces come; `bounces` by default",
          error: "must be one label of a-z, 0-9 and hyphens",
          examples: ["bounces"],
        }),
      ),
      subdomains: Type.Optional(subdomains),
    },
    { description: "The new domain", examples: [{ domain: examples.domain }] },
  ),
);

const DomainChange = named(
  "DomainChange",
  Type.Object(
    { subdomains: Type.Optional(subdomains) },
    { description: "The changes. Missing fields stay as they are" },
  ),
);

const mostRetireDays = 30;

const DkimRotation = named(
  "DkimRotation",
  Type.Object(
    {
      retireDays: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: mostRetireDays,
          default: 7,
          description: "Days for which the old record stays wanted after the new key signs. 0 after a leak",
          examples: [7],
        }),
      ),
    },
    { description: "The rotation. All fields are optional" },
  ),
);

export const DomainPage = named(
  "DomainPage",
  Type.Object(
    {
      data: Type.Array(DomainShape, { description: "Domains, newest first, and the shared ones behind them" }),
      total: totalCount("How many domains there are in all"),
    },
    { description: "A page of domains, and how many there are in all" },
  ),
);

export const DomainQuery = Type.Object({
  ...pageQuery(),
  status: Type.Optional(oneOf(domainStatuses, { description: "Only domains with this status", examples: ["failing"] })),
});

const domainPath = idPath("domain");

/** The domains of an account, and the shared ones, which it sees without their records. */
export function domains(deps: DomainDeps) {
  const owned = (reach: Reach, id: string) => ownedDomain(deps, reach, id);
  const whenRefused = whetherThere(owned);
  return api("/v1/domains", "Domains")
    .post(
      "",
      async ({ account, actor, body, set }) => {
        const { domain, isNew } = await addDomain(deps, {
          owner: account.id,
          actor,
          plan: account.plan,
          limits: account.limits,
          name: body.domain,
          returnPath: body.returnPath,
          subdomains: body.subdomains,
        });
        set.status = isNew ? 201 : 200;
        set.headers.location = `/v1/domains/${domain.id}`;
        return asShown(deps, account.id, domain);
      },
      operation({
        summary: "Add domain",
        access: "account",
        description:
          "Adds a domain, and makes its DKIM key. Publish its `records`; they are looked for at once, often in the first minutes, and every 15 minutes for 72 hours. A domain that the account has already is returned with 200. Whether another account has the domain makes no difference to the answer.",
        body: NewDomain,
        answers: { 200: DomainShape, 201: DomainShape },
        answerHeaders: { 200: { Location: "Path of the domain" }, 201: { Location: "Path of the domain" } },
        refuses: ["feature_requires_paid_plan", "invalid_domain", "domain_reserved", "quota_exceeded"],
      }),
    )
    .get(
      "",
      async ({ account, query: { status, limit, offset } }) =>
        shownDomains(deps, { owner: account.id, status, limit, offset }),
      operation({
        summary: "List domains",
        access: "account",
        description: "Newest first. Domains that the operator shares with all accounts are last, without records.",
        query: DomainQuery,
        answers: { 200: DomainPage },
      }),
    )
    .get(
      "/:id",
      async ({ account, params }) => asShown(deps, account.id, await owned(account.reach, params.id)),
      operation({
        summary: "Get domain",
        access: "account",
        description: "One domain of the account, or a shared one.",
        path: domainPath,
        whenRefused,
        answers: { 200: DomainShape },
      }),
    )
    .patch(
      "/:id",
      async ({ account, actor, params, body }) => {
        const domain = await owned(account.reach, params.id);
        if (body.subdomains === undefined) return asShown(deps, account.id, domain);
        const acting = { owner: account.id, actor };
        return asShown(deps, account.id, await changeDomain(deps, acting, domain.id, { subdomains: body.subdomains }));
      },
      operation({
        summary: "Change domain",
        access: "account",
        description: "Sets whether inboxes may have names below the domain. `false` is refused while some have.",
        path: domainPath,
        whenRefused,
        body: DomainChange,
        answers: { 200: DomainShape },
        refuses: ["domain_in_use"],
      }),
    )
    .delete(
      "/:id",
      async ({ account, actor, params, set }) => {
        const { id } = await owned(account.reach, params.id);
        await removeDomain(deps, { owner: account.id, actor }, id);
        set.status = 204;
      },
      operation({
        summary: "Delete domain",
        access: "account",
        description:
          "Refused while the domain has inboxes. Its private keys are destroyed, at the latest when its last accepted mail is out, so a record that stays in the zone proves nothing any more.",
        path: domainPath,
        whenRefused,
        answers: { 204: nothing("Deleted") },
        refuses: ["domain_in_use"],
      }),
    )
    .post(
      "/:id/verify",
      async ({ account, actor, params }) => {
        const { id } = await owned(account.reach, params.id);
        return asShown(deps, account.id, await verifyDomain(deps, { owner: account.id, actor }, id));
      },
      operation({
        summary: "Verify domain",
        access: "account",
        description:
          "Checks the records now, which takes 10 seconds at most. Within 10 seconds of the last such request it returns the last result. For a failed domain it starts 72 hours of checks again.",
        path: domainPath,
        whenRefused,
        answers: { 200: DomainShape },
      }),
    )
    .post(
      "/:id/rotate-dkim",
      async ({ account, actor, params, body }) => {
        const { id } = await owned(account.reach, params.id);
        return asShown(deps, account.id, await rotateDkim(deps, { owner: account.id, actor }, id, body.retireDays));
      },
      operation({
        summary: "Rotate domain key",
        access: "account",
        description:
          "Makes a second key with a record of its own. Once that is found, mail is signed with the new key, and the old record stays wanted for `retireDays`. During a rotation another request begins none.",
        path: domainPath,
        whenRefused,
        body: DkimRotation,
        bodyMayBeEmpty: true,
        answers: { 200: DomainShape },
      }),
    )
    .get(
      "/:id/zone",
      async ({ account, params, set }) => {
        const domain = await owned(account.reach, params.id);
        set.headers["content-type"] = "text/plain; charset=utf-8";
        return domain.accountId === account.id ? zoneFile(wantedRecords(domain, domain.keys, deps.names)) : "";
      },
      operation({
        summary: "Download zone file",
        access: "account",
        description: "The records as lines of a zone file, with long texts in strings of at most 255 octets.",
        path: domainPath,
        whenRefused,
        answers: {
          200: Type.String({
            description: "The records",
            contentMediaType: "text/plain",
            examples: ["example.com. 3600 IN MX 10 inbox.localhost.\n"],
          }),
        },
      }),
    );
}

/** The domain of that id. Throws `not_found` also for a domain of another account, or if the caller reaches only a part of its account. */
async function ownedDomain(deps: DomainDeps, reach: Reach, id: string): Promise<ShownDomain> {
  if (!isId("dom", id) || !isWholeAccount(reach)) throw notFound("domain");
  return shownDomain(deps, reach.accountId, id);
}
