import { Type } from "@sinclair/typebox";
import { tokenEnd, tokenSeconds } from "../../../domain/access/token.ts";
import { Refusal } from "../../../domain/errors.ts";
import type { AccessTokens } from "../../../flows/account/access-tokens.ts";
import type { Deps } from "../../../flows/deps.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { alsoNamed } from "../../judging/known-fields.ts";
import { api } from "../../shell/app.ts";
import { instant, text } from "../../shell/models.ts";
import { operation } from "../../shell/operation.ts";
import { ownedInbox } from "./inboxes.ts";

export interface TokenDeps extends Deps {
  tokens: Pick<AccessTokens, "write">;
}

const NewToken = named(
  "NewToken",
  Type.Object(
    {
      inboxId: alsoNamed(
        "inbox_id",
        Type.Optional(
          text({
            description: "The only inbox that the token reaches. Without it: all of the account",
            examples: [examples.inboxId],
          }),
        ),
      ),
      ttlSeconds: alsoNamed(
        "ttl_seconds",
        Type.Optional(
          Type.Integer({
            minimum: tokenSeconds.least,
            maximum: tokenSeconds.most,
            default: tokenSeconds.usual,
            description: "How long it is valid. A token in a URL must expire within an hour",
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
    { description: "A token that can only read, and that ends with the key that made it" },
  ),
);

function tokenRefused(kind: "token" | "operator"): Refusal {
  const maker = kind === "token" ? "a token" : "the key of an operator";
  return new Refusal("forbidden", `Cannot create token: ${maker} makes no tokens`, {
    extra: { required_access: "read" },
  });
}

/** Short-lived tokens of a key with fewer rights, for browsers and for agents with one task. */
export function tokens(deps: TokenDeps) {
  return api("/v1/tokens", "Tokens").post(
    "",
    async ({ account, body, set }) => {
      if (account.kind === "token" || account.kind === "operator") throw tokenRefused(account.kind);
      const { inboxId, ttlSeconds = tokenSeconds.usual } = body;
      if (inboxId !== undefined) await ownedInbox(deps, account.reach, inboxId);
      const expiresAt = tokenEnd(deps.now(), ttlSeconds);
      const token = await deps.tokens.write({ keyId: account.keyId, access: "read", inboxId, expiresAt });
      set.status = 201;
      set.headers["cache-control"] = "no-store";
      return { token, expiresAt: expiresAt.toISOString() };
    },
    operation({
      summary: "Create token",
      access: "read",
      description:
        "Creates a token for a browser, or for an agent with one task. It can only read: inboxes, mail and events of the account or of one inbox. A resource outside its reach gets 404; a request that it may not make gets 403. It expires by itself, and ends with the key that made it.",
      body: NewToken,
      bodyMayBeEmpty: true,
      answers: { 201: Token },
      refuses: ["not_found"],
    }),
  );
}
