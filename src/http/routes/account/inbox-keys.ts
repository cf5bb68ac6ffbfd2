import { Type } from "@sinclair/typebox";
import { wholeKey } from "../../../domain/access/key.ts";
import { notFound } from "../../../domain/errors.ts";
import { addKey, endKey, managerOf, ownedKey } from "../../../flows/account/manage-keys.ts";
import type { Deps } from "../../../flows/deps.ts";
import { countApiKeys, listApiKeys } from "../../../store/account/keys.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { api } from "../../shell/app.ts";
import { whetherThere } from "../../shell/described-operation.ts";
import { idPath, nothing, pageQuery } from "../../shell/models.ts";
import { operation } from "../../shell/operation.ts";
import { ownedInbox } from "./inboxes.ts";
import { KeyPage, keyFields, NewKey, toCreated, toKey } from "./key-shapes.ts";

const InboxKey = named(
  "InboxKey",
  Type.Object(
    {
      ...keyFields,
      tokenPrefix: Type.String({ description: "The same as `prefix`", examples: ["ibx_00Qh"] }),
      last4: Type.String({ description: "The same as `lastFour`", examples: ["7fWz"] }),
      key: Type.String({ description: "The key itself, which is shown only here", examples: [examples.apiKey] }),
      token: Type.String({ description: "The same as `key`", examples: [examples.apiKey] }),
    },
    { description: "A new key of one inbox, with the names of other services beside ours" },
  ),
);

const NewInboxKey = named(
  "NewInboxKey",
  Type.Object({ name: NewKey.properties.name }, { description: "The new key", examples: [{ name: "support agent" }] }),
);

const inboxKeyPath = { ...idPath("inbox"), key_id: { description: "Id of the key", example: examples.keyId } };

/** The keys of one inbox: other paths to `/v1/keys`, for clients of other services. */
export function inboxKeys(deps: Deps) {
  const whenRefused = whetherThere((reach, id) => ownedInbox(deps, reach, id));
  return api("/v1/inboxes", "Keys")
    .post(
      "/:id/api-keys",
      async ({ account, actor, params, body, set }) => {
        const settings = { ...wholeKey, access: "agent", inboxId: params.id } as const;
        const made = await addKey(deps, managerOf(account, actor), body.name ?? undefined, settings);
        set.status = 201;
        set.headers.location = `/v1/keys/${made.info.id}`;
        const { prefix, lastFour } = made.info;
        const { key, ...shown } = toCreated(made, set);
        return { ...shown, tokenPrefix: prefix, last4: lastFour, key, token: key };
      },
      operation({
        summary: "Create inbox key",
        access: "full key",
        description: "The same as `POST /v1/keys` with the access `agent` and this `inboxId`.",
        path: idPath("inbox"),
        whenRefused,
        body: NewInboxKey,
        bodyMayBeEmpty: true,
        answers: { 201: InboxKey },
        answerHeaders: { 201: { Location: "Path of the key" } },
        refuses: ["quota_exceeded"],
      }),
    )
    .get(
      "/:id/api-keys",
      async ({ account, params, query: { limit, offset } }) => {
        const { id: inboxId } = await ownedInbox(deps, account.reach, params.id);
        const page = { reach: account.reach, inboxId, externalId: undefined, isRevoked: false, limit, offset };
        const [data, total] = await Promise.all([listApiKeys(deps.db.api, page), countApiKeys(deps.db.api, page)]);
        return { data: data.map(toKey), total };
      },
      operation({
        summary: "List inbox keys",
        access: "full",
        description: "The same as `GET /v1/keys` with this `inbox_id` and `revoked=false`.",
        path: idPath("inbox"),
        whenRefused,
        query: Type.Object(pageQuery()),
        answers: { 200: KeyPage },
      }),
    )
    .delete(
      "/:id/api-keys/:key_id",
      async ({ account, actor, params, set }) => {
        await ownedInbox(deps, account.reach, params.id);
        const { inboxId } = await ownedKey(deps.db.api, account.reach, params.key_id);
        if (inboxId !== params.id) throw notFound("key");
        await endKey(deps, managerOf(account, actor), params.key_id);
        set.status = 204;
      },
      operation({
        summary: "Revoke inbox key",
        access: "full",
        description: "The same as `DELETE /v1/keys/{id}`, for a key of this inbox.",
        path: inboxKeyPath,
        whenRefused,
        answers: { 204: nothing("Revoked") },
      }),
    );
}
