import { Type } from "@sinclair/typebox";
import { grantedAccesses } from "../../../domain/connect/authorization.ts";
import { Refusal } from "../../../domain/errors.ts";
import { endGrant, ownedGrant, pageGrants } from "../../../flows/connect/grants.ts";
import type { Deps } from "../../../flows/deps.ts";
import type { Grant } from "../../../store/account/grants.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { api } from "../../shell/app.ts";
import { whetherThere } from "../../shell/described-operation.ts";
import { idPath, instant, nextCursor, nothing, nullable, oneOf, pageQuery } from "../../shell/models.ts";
import { operation } from "../../shell/operation.ts";
import { cursorParameter, cursorRow } from "../../shell/parameters.ts";

const GrantShape = named(
  "Grant",
  Type.Object(
    {
      id: Type.String({ description: "Id of the grant", examples: [examples.grantId] }),
      client: Type.Object(
        {
          id: Type.String({
            description: "Id of its registration, or the address of its metadata document",
            examples: ["https://claude.ai/oauth/mcp-oauth-client-metadata"],
          }),
          name: Type.String({ description: "The name that it gives itself", examples: ["Claude"] }),
          host: Type.String({ description: "The host that its answers go to", examples: ["claude.ai"] }),
        },
        { description: "The program" },
      ),
      access: oneOf(grantedAccesses, { description: "What it may do", examples: ["agent"] }),
      inboxId: nullable(Type.String(), { description: "The only inbox that it reaches", examples: [null] }),
      externalId: nullable(Type.String(), {
        description: "The only `externalId` whose inboxes it reaches",
        examples: [null],
      }),
      createdAt: instant({ description: "When a person granted it" }),
      lastUsedAt: nullable(instant(), { description: "When it was last used, a minute late at most" }),
    },
    { description: "The access that a person has granted to a program" },
  ),
);

const GrantPage = named(
  "GrantPage",
  Type.Object(
    { data: Type.Array(GrantShape, { description: "The grants, newest first" }), nextCursor: nextCursor() },
    { description: "A page of grants" },
  ),
);

/** The access that people have granted to programs on the consent page. */
export function grants(deps: Deps) {
  return api("/v1/grants", "Keys")
    .get(
      "",
      async ({ account, query: { limit, cursor } }) => {
        const question = ["grants", account.reach];
        const last = cursor === undefined ? undefined : cursorRow(cursor, question, "none", "list grants");
        if (last instanceof Refusal) throw last;
        const page = await pageGrants(deps, account, { question, beforeId: last?.id, limit });
        return { data: page.data.map(toGrant), nextCursor: page.nextCursor };
      },
      operation({
        summary: "List grants",
        access: "full",
        description:
          "The programs that people have connected by signing in at `/mcp/connect`, newest first. A grant ends when it is deleted, when it was not used for 30 days, and with the key of the person who granted it.",
        query: Type.Object({ limit: pageQuery().limit, cursor: Type.Optional(cursorParameter()) }),
        answers: { 200: GrantPage },
      }),
    )
    .delete(
      "/:id",
      async ({ account, actor, params, set }) => {
        await endGrant(deps, account, actor, params.id);
        set.status = 204;
      },
      operation({
        summary: "Delete grant",
        access: "full",
        description: "From now on the program's tokens are refused. It may ask its person again.",
        path: idPath("grant"),
        whenRefused: whetherThere((reach, id) => ownedGrant(deps, reach, id)),
        answers: { 204: nothing("Deleted") },
      }),
    );
}

function toGrant({ id, clientId, clientName, clientHost, access, inboxId, externalId, createdAt, lastUsedAt }: Grant) {
  return {
    id,
    client: { id: clientId, name: clientName, host: clientHost },
    access,
    inboxId,
    externalId,
    createdAt: createdAt.toISOString(),
    lastUsedAt: lastUsedAt?.toISOString() ?? null,
  };
}
