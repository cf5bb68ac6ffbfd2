import { Type } from "@sinclair/typebox";
import { tokenAccesses } from "../../../domain/access/key.ts";
import { tokenSeconds } from "../../../domain/access/token.ts";
import { makeToken, type TokenDeps } from "../../../flows/account/make-token.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { alsoNamed } from "../../judging/known-fields.ts";
import { api } from "../../shell/app.ts";
import { instant, oneOf, text } from "../../shell/models.ts";
import { operation } from "../../shell/operation.ts";

const NewToken = named(
  "NewToken",
  Type.Object(
    {
      inboxId: alsoNamed(
        "inbox_id",
        Type.Optional(
          text({
            description: "The only inbox that the token reaches. Without it: all that its key reaches",
            examples: [examples.inboxId],
          }),
        ),
      ),
      externalId: alsoNamed(
        "external_id",
        Type.Optional(
          text({
            min: 1,
            max: 255,
            description: "The only `externalId` whose inboxes the token reaches, now and later",
            examples: [examples.externalId],
          }),
        ),
      ),
      access: Type.Optional(
        oneOf(tokenAccesses, {
          description:
            "What it may do, at most what its key may: `read`: only read; `send`: send, and cancel what its key sent, without reading mail; `agent`: both, and mark, wait and stream",
          default: "read",
          examples: ["read"],
        }),
      ),
      ttlSeconds: alsoNamed(
        "ttl_seconds",
        Type.Optional(
          Type.Integer({
            minimum: tokenSeconds.least,
            maximum: tokenSeconds.most,
            default: tokenSeconds.usual,
            description: "How long it is valid. A token in a URL must expire within an hour, and only read",
          }),
        ),
      ),
    },
    { description: "What the token reaches, and how long it is valid" },
  ),
);

const Token = named(
  "Token",
  Type.Object(
    {
      token: Type.String({
        description: "Use it as Bearer token in place of a key. It is not stored",
        examples: [examples.token],
      }),
      expiresAt: instant({ description: "When it expires", examples: ["2026-03-21T10:20:00.000Z"] }),
    },
    { description: "A token, which ends with the key that made it" },
  ),
);

/** Short-lived tokens of a key with fewer rights, for browsers and for agents with one task. */
export function tokens(deps: TokenDeps) {
  return api("/v1/tokens", "Tokens").post(
    "",
    async ({ account, actor, body, set }) => {
      const { access = "read", inboxId, externalId, ttlSeconds = tokenSeconds.usual } = body;
      const { token, expiresAt } = await makeToken(deps, account, actor, { access, inboxId, externalId, ttlSeconds });
      set.status = 201;
      set.headers["cache-control"] = "no-store";
      return { token, expiresAt: expiresAt.toISOString() };
    },
    operation({
      summary: "Create token",
      access: "read",
      description:
        "Creates a token for a browser, or for an agent with one task. Without `access` it can only read. It reaches at most what its key reaches, or a part of that: one inbox, or the inboxes with one `externalId`. A resource outside its reach gets 404; a request that it may not make gets 403. It expires by itself, and ends with the key that made it. A token makes no tokens.",
      body: NewToken,
      bodyMayBeEmpty: true,
      alsoWrong: ({ inboxId, externalId }) =>
        inboxId === undefined || externalId === undefined
          ? []
          : [{ pointer: "#/externalId", detail: "must be left out with `inboxId`" }],
      answers: { 201: Token },
      refuses: ["not_found"],
    }),
  );
}
