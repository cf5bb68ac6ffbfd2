import { Type } from "@sinclair/typebox";
import { notFound, type Refusal } from "../../../domain/errors.ts";
import { isId } from "../../../domain/ids.ts";
import {
  addDomain,
  type DomainDeps,
  removeDomain,
  type ShownDomain,
  shownDomain,
  verifyDomain,
} from "../../../flows/domains/manage-domains.ts";
import { asShown, shownDomains } from "../../../flows/domains/shown-domain.ts";
import { named } from "../../document/schema.ts";
import { adminPath, api } from "../../shell/app.ts";
import type { Refused } from "../../shell/described-operation.ts";
import { idPath, nothing } from "../../shell/models.ts";
import { operation } from "../../shell/operation.ts";
import { DomainShape } from "../account/domain-shape.ts";
import { DomainPage, DomainQuery, NewDomain } from "../account/domains.ts";

const NewSharedDomain = named(
  "NewSharedDomain",
  Type.Object(
    {
      ...NewDomain.properties,
      shared: Type.Optional(Type.Literal(true, { description: "Says that it is shared, as all domains here are" })),
    },
    { description: "The new domain", examples: [{ domain: "mail.example.org", shared: true }] },
  ),
);

const domainPath = idPath("domain");
/** A shared domain belongs to no account. */
const owner = null;

/** The domains that all accounts may use, for operators. */
export function adminDomains(deps: DomainDeps) {
  const shown = (domain: ShownDomain) => asShown(deps, owner, domain);
  const whenRefused = async ({ params }: Refused, refusal: Refusal) => {
    await sharedDomain(deps, params.id ?? "");
    return refusal;
  };
  return api(`${adminPath}/domains`, "Admin")
    .get(
      "",
      async ({ query: { status, limit, offset } }) => shownDomains(deps, { owner, status, limit, offset }),
      operation({
        summary: "List shared domains",
        access: "operator",
        description: "The domains that all accounts may use, with their records, newest first.",
        query: DomainQuery,
        answers: { 200: DomainPage },
      }),
    )
    .post(
      "",
      async ({ actor, body, set }) => {
        const { domain: name, returnPath, subdomains } = body;
        const { domain, isNew } = await addDomain(deps, {
          owner,
          actor,
          plan: undefined,
          name,
          returnPath,
          subdomains,
        });
        set.status = isNew ? 201 : 200;
        set.headers.location = `${adminPath}/domains/${domain.id}`;
        return shown(domain);
      },
      operation({
        summary: "Add shared domain",
        access: "operator",
        description:
          "Adds a domain at which every account may have inboxes, once its records prove it. No account can add it any more.",
        body: NewSharedDomain,
        answers: { 200: DomainShape, 201: DomainShape },
        answerHeaders: { 200: { Location: "Path of the domain" }, 201: { Location: "Path of the domain" } },
        refuses: ["invalid_domain", "domain_reserved"],
      }),
    )
    .get(
      "/:id",
      async ({ params }) => shown(await sharedDomain(deps, params.id)),
      operation({
        summary: "Get shared domain",
        access: "operator",
        description: "One domain that all accounts may use, with its records.",
        path: domainPath,
        whenRefused,
        answers: { 200: DomainShape },
      }),
    )
    .post(
      "/:id/verify",
      async ({ actor, params }) => {
        const { id } = await sharedDomain(deps, params.id);
        return shown(await verifyDomain(deps, { owner, actor }, id));
      },
      operation({
        summary: "Verify shared domain",
        access: "operator",
        description: "Checks the records now, as `POST /v1/domains/{id}/verify` does for a domain of an account.",
        path: domainPath,
        whenRefused,
        answers: { 200: DomainShape },
      }),
    )
    .delete(
      "/:id",
      async ({ actor, params, set }) => {
        const { id } = await sharedDomain(deps, params.id);
        await removeDomain(deps, { owner, actor }, id);
        set.status = 204;
      },
      operation({
        summary: "Delete shared domain",
        access: "operator",
        description: "Refused while an account has inboxes there.",
        path: domainPath,
        whenRefused,
        answers: { 204: nothing("Deleted") },
        refuses: ["domain_in_use"],
      }),
    );
}

async function sharedDomain(deps: DomainDeps, id: string): Promise<ShownDomain> {
  if (!isId("dom", id)) throw notFound("domain");
  return shownDomain(deps, owner, id);
}
