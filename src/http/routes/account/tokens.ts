import { Type } from "@sinclair/typebox";
import { tokenEnd, tokenSeconds } from "../../../domain/access/token.ts";
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
            description: "The one inbox that the token reaches; all of the account where left out",
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
            description: "For how long it is good. In an address a token must end within the hour",
          }),
        ),
      ),
    },
    { description: "What the token reaches, and for how long" },
  ),
);

const Token = named(
  "Token",
  Type.Object(
    {
      token: Type.String({
        description: "Goes wherever a key goes, as Bearer; stored nowhere",
        examples: [examples.token],
      }),
      expiresAt: instant({ description: "When it ends", examples: ["2026-03-21T10:20:00.000Z"] }),
    },
    { description: "A token that reads, dead with the key that made it" },
  ),
);

/** Short-lived tokens of a key with fewer rights, for browsers and for agents with one task. */
export function tokens(deps: TokenDeps) {
  return api("/v1/tokens", "Tokens").post(
    "",
    async ({ account, body, set }) => {
      const { inboxId, ttlSeconds = tokenSeconds.usual } = body;
      if (inboxId !== undefined) await ownedInbox(deps, account.id, inboxId);
      const expiresAt = tokenEnd(deps.now(), ttlSeconds);
      const token = await deps.tokens.write({ keyId: account.keyId, access: "read", inboxId, expiresAt });
      set.status = 201;
      set.headers["cache-control"] = "no-store";
      return { token, expiresAt: expiresAt.toISOString() };
    },
    operation({
      summary: "Create token",
      description:
        "Makes a token for a browser, or for an agent with one task. It reads inboxes, mail and events, of the account or of one inbox, and does nothing else: what it does not reach is 404, what it may not do 403. It ends by itself, and with the key that made it.",
      body: NewToken,
      bodyMayBeEmpty: true,
      answers: { 201: Token },
      refuses: ["not_found"],
    }),
  );
}
