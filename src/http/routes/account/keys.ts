import type { Static } from "@sinclair/typebox";
import { type KeySettings, wholeKey } from "../../../domain/access/key.ts";
import { Refusal } from "../../../domain/errors.ts";
import {
  addKey,
  changeKey,
  endKey,
  type KeyManager,
  managerOf,
  ownedKey,
  rotateKey,
} from "../../../flows/account/manage-keys.ts";
import type { Deps } from "../../../flows/deps.ts";
import { parseInstant } from "../../../standards/instant.ts";
import { countApiKeys, listApiKeys } from "../../../store/account/keys.ts";
import { api } from "../../shell/app.ts";
import { whetherThere } from "../../shell/described-operation.ts";
import { idPath, nothing } from "../../shell/models.ts";
import { operation } from "../../shell/operation.ts";
import {
  CreatedKey,
  faultsOfChange,
  faultsOfKey,
  type KeyAnswer,
  KeyChange,
  KeyPage,
  KeyQuery,
  KeyRotation,
  KeyShape,
  NewKey,
  overlapSeconds,
  toCreated,
  toKey,
} from "./key-shapes.ts";

/** The keys of an account, with their access and reach. */
export function keys(deps: Deps) {
  const whenRefused = whetherThere((reach, id) => ownedKey(deps.db.api, reach, id));
  return api("/v1/keys", "Keys")
    .post(
      "",
      ({ account, actor, body, set }) => createdKey(deps, managerOf(account, actor), body, set),
      operation({
        summary: "Create key",
        access: "full key",
        description:
          "Creates a key with an access, and with a reach: the whole account, one inbox, or the inboxes with one `externalId`. The answer has the key itself, which is shown only here. A key that is bound to an `externalId` creates keys of that `externalId`, or of one of its inboxes.",
        body: NewKey,
        bodyMayBeEmpty: true,
        alsoWrong: faultsOfKey,
        answers: { 201: CreatedKey },
        answerHeaders: { 201: { Location: "Path of the key" } },
        refuses: ["not_found", "quota_exceeded"],
      }),
    )
    .get(
      "",
      async ({ account, query }) => {
        const { limit, offset, inbox_id: inboxId, external_id: externalId, revoked: isRevoked } = query;
        const page = { reach: account.reach, inboxId, externalId, isRevoked, limit, offset };
        const [data, total] = await Promise.all([listApiKeys(deps.db.api, page), countApiKeys(deps.db.api, page)]);
        return { data: data.map(toKey), total };
      },
      operation({
        summary: "List keys",
        access: "full",
        description: "Newest first, with revoked keys.",
        query: KeyQuery,
        answers: { 200: KeyPage },
      }),
    )
    .get(
      "/:id",
      async ({ account, params }) => toKey(await ownedKey(deps.db.api, account.reach, params.id)),
      operation({
        summary: "Get key",
        access: "full",
        description: "One key within the reach of the caller.",
        path: idPath("key"),
        whenRefused,
        answers: { 200: KeyShape },
      }),
    )
    .patch(
      "/:id",
      async ({ account, actor, params, body }) => {
        const { name, allowedIps: blocks, expiresAt, sendPolicy } = body;
        const ends = expiresAt === undefined || expiresAt === null ? expiresAt : endAt(expiresAt, deps.now());
        const change = { name, allowedIps: blocks, expiresAt: ends, sendPolicy };
        return toKey(await changeKey(deps, managerOf(account, actor), params.id, change));
      },
      operation({
        summary: "Change key",
        access: "full",
        description:
          "Changes the name, the addresses, the end or the `sendPolicy` of a key. Its access and reach stay: create another key for others. The last key that manages the account cannot be made to end.",
        path: idPath("key"),
        whenRefused,
        body: KeyChange,
        alsoWrong: faultsOfChange,
        answers: { 200: KeyShape },
        refuses: ["last_key"],
      }),
    )
    .delete(
      "/:id",
      async ({ account, actor, params, set }) => {
        await endKey(deps, managerOf(account, actor), params.id);
        set.status = 204;
      },
      operation({
        summary: "Revoke key",
        access: "full",
        description:
          "From now on the key is refused, with its tokens and its sessions, and its open streams end. The last key that manages the account cannot be revoked: only by the operator.",
        path: idPath("key"),
        whenRefused,
        answers: { 204: nothing("Revoked") },
        refuses: ["last_key"],
      }),
    )
    .post(
      "/:id/rotate",
      async ({ account, actor, params, body, set }) => {
        const { overlapSeconds: overlap = overlapSeconds.usual } = body;
        return toCreated(await rotateKey(deps, managerOf(account, actor), params.id, overlap), set);
      },
      operation({
        summary: "Rotate key",
        access: "full key",
        description:
          "Creates a key with the same name, access, reach, addresses and end. The old key ends after the overlap, so its users can change to the new one in between.",
        path: idPath("key"),
        whenRefused,
        body: KeyRotation,
        bodyMayBeEmpty: true,
        answers: { 201: CreatedKey },
        answerHeaders: { 201: { Location: "Path of the new key" } },
        refuses: ["quota_exceeded"],
      }),
    );
}

/** Creates the key that a request describes. */
export async function createdKey(deps: Deps, by: KeyManager, body: Static<typeof NewKey>, set: KeyAnswer) {
  return toCreated(await addKey(deps, by, body.name ?? undefined, settingsOf(body, deps.now())), set);
}

function settingsOf(body: Static<typeof NewKey>, now: Date): KeySettings {
  const {
    access = "full",
    inboxId = null,
    externalId = null,
    allowedIps: blocks = [],
    expiresInSeconds: seconds,
    sendPolicy = null,
  } = body;
  const given = body.expiresAt ?? undefined;
  const inSeconds = seconds === undefined ? null : new Date(now.getTime() + seconds * 1000);
  const expiresAt = given === undefined ? inSeconds : endAt(given, now);
  return { ...wholeKey, access, inboxId, externalId, allowedIps: blocks, expiresAt, sendPolicy };
}

function endAt(text: string, now: Date): Date {
  const at = parseInstant(text);
  if (at !== undefined && at > now) return at;
  const faults = [{ pointer: "#/expiresAt", detail: "must be in the future" }];
  throw new Refusal("validation_error", "Cannot create key: `expiresAt` must be in the future", { faults });
}
