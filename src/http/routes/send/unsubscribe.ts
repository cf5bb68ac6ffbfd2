import { Elysia } from "elysia";
import type { Deps } from "../../../flows/deps.ts";
import type { Unsubscribing } from "../../../flows/send/unsubscribe.ts";
import { inboxAddress } from "../../../standards/address.ts";
import { examples } from "../../document/examples.ts";
import { readBodyOfAnyType } from "../../shell/body.ts";
import { operation } from "../../shell/operation.ts";
import { shownPage, tooOften, type VisitsDeps, visits } from "../../shell/plain-page.ts";
import { donePage, questionPage, tooManyPage, unknownPage } from "./unsubscribe-pages.ts";

export interface UnsubscribeRoutesDeps extends VisitsDeps, Pick<Deps, "mailDomain"> {
  unsubscribing: Pick<Unsubscribing, "recipientOf" | "byToken">;
}

/** A form of RFC 8058 has 26 bytes. */
const bodyLimits = { maxBytes: 1_024, timeoutMs: 10_000 };

const path = {
  token: {
    description:
      "The credential, in the path, where OpenAPI has no security scheme for it: it names a recipient of a message and is signed, so whoever has the link can unsubscribe that recipient and nobody else. It has no end",
    example: examples.unsubscribeToken,
  },
};
const refusals = {
  404: shownPage(
    "The signature is wrong, or the message or its inbox is deleted. The page is the same",
    "This link does not work",
  ),
  429: shownPage(tooOften, "Try again in a minute"),
};

/**
 * The link of `List-Unsubscribe` (RFC 8058). It is mounted without the guard, since the recipient of a mail has no key: the signature in the
 * link is enough.
 */
export function unsubscribe(deps: UnsubscribeRoutesDeps) {
  const { unsubscribing, mailDomain } = deps;
  const visit = visits(deps);

  /** The page for a client that asks too often. */
  function refused(request: Request): Response | undefined {
    const { waitSeconds } = visit(request);
    return waitSeconds === undefined ? undefined : tooManyPage(waitSeconds);
  }

  return new Elysia({ prefix: "/u", tags: ["Suppressions"] })
    .get(
      "/:token",
      async ({ params, request }) => {
        const tooMany = refused(request);
        if (tooMany !== undefined) return tooMany;
        const recipient = await unsubscribing.recipientOf(params.token ?? "");
        return recipient === undefined ? unknownPage() : questionPage(inboxAddress(recipient.username, mailDomain));
      },
      operation({
        summary: "Show unsubscribe page",
        access: "open",
        description:
          "A page with a button, for the recipient of a mail that was sent with `unsubscribe`. It changes nothing, because scanners of mail fetch each link. No key is needed, only the link.",
        path,
        refuses: ["rate_limit_exceeded"],
        answers: { 200: shownPage("The page", "Unsubscribe"), ...refusals },
      }),
    )
    .post(
      "/:token",
      async ({ params, request }) => {
        const tooMany = refused(request);
        if (tooMany !== undefined) return tooMany;
        await readBodyOfAnyType(request, bodyLimits);
        const recipient = await unsubscribing.byToken(params.token ?? "");
        return recipient === undefined ? unknownPage() : donePage(inboxAddress(recipient.username, mailDomain));
      },
      operation({
        summary: "Unsubscribe",
        access: "open",
        description:
          "Suppresses the recipient of the message for its inbox, with the reason `unsubscribe`. Mail programs call it for one click (RFC 8058), and the page of this link does. Any form of at most 1 KiB is accepted, since the link says all, and no key is needed. A repeated request changes nothing.",
        path,
        otherBodies: {
          "application/x-www-form-urlencoded": {
            schema: {
              type: "object",
              properties: { "List-Unsubscribe": { type: "string", examples: ["One-Click"] } },
              additionalProperties: true,
            },
            example: { "List-Unsubscribe": "One-Click" },
          },
        },
        bodyMayBeEmpty: true,
        refuses: ["rate_limit_exceeded", "unsupported_media_type"],
        answers: {
          200: shownPage("The recipient gets no more mail from the inbox", "You are unsubscribed"),
          ...refusals,
        },
      }),
    );
}
