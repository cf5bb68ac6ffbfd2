import { Type } from "@sinclair/typebox";
import { extractedOf } from "../../../flows/read/extracted.ts";
import { shownPage } from "../../../flows/read/shown-page.ts";
import type { StoredMessage } from "../../../store/mail/message-pages.ts";
import { api } from "../../shell/app.ts";
import { whetherThere } from "../../shell/described-operation.ts";
import { idPath, oneOf } from "../../shell/models.ts";
import { operation } from "../../shell/operation.ts";
import { ownedMessage, type ReadingDeps } from "./messages.ts";

/** A message as an HTML page, for a frame or a browser tab. */
export function messagePage(deps: ReadingDeps) {
  return api("/v1/messages", "Messages").get(
    "/:id/html",
    async ({ account, params, query }) => {
      const whole = await ownedMessage(deps, account.reach, params.id);
      const message = query.quotes === "hidden" ? await withoutQuotes(deps, account.id, whole) : whole;
      const remotePictures = query.images === "remote";
      const page = await shownPage(deps.links, { message, remotePictures, now: deps.now() });
      return new Response(page, { headers: pageHeaders(remotePictures) });
    },
    operation({
      summary: "Show message",
      access: "read",
      description:
        "The message as a page that is safe to show in a frame: its HTML, or its text with links, without scripts, frames, forms and other active elements; `cid:` pictures have signed URLs. Pictures of other hosts are left out unless `images=remote`, because loading one shows its host that the mail is read. Links whose text names another host are listed above the mail with their real target. Lengths relative to the window's height assume 800 pixels. A page has at most 2 MiB; a longer one is cut, and says so. Its content security policy allows no scripts, and no requests except for pictures. Use a frame with the sandbox `allow-popups allow-popups-to-escape-sandbox allow-same-origin`, and never with `allow-scripts`.",
      path: idPath("message"),
      query: Type.Object({
        images: Type.Optional(
          oneOf(["none", "remote"], {
            default: "none",
            description: "Whether pictures of other hosts are shown",
          }),
        ),
        quotes: Type.Optional(
          oneOf(["shown", "hidden"], {
            default: "shown",
            description: "`hidden`: only what is new, as in `extractedHtml` and `extractedText`",
          }),
        ),
      }),
      whenRefused: whetherThere((reach, id) => ownedMessage(deps, reach, id)),
      answers: {
        200: Type.String({
          description: "The page",
          contentMediaType: "text/html",
          examples: ["<!doctype html><html><body><p>Where is it?</p></body></html>"],
        }),
      },
    }),
  );
}

async function withoutQuotes(deps: ReadingDeps, accountId: string, message: StoredMessage): Promise<StoredMessage> {
  const { extractedText, extractedHtml } = await extractedOf(deps, accountId, message);
  return { ...message, bodyText: extractedText, bodyHtml: extractedHtml };
}

/** Headers that forbid scripts and all requests except for pictures, in case the sanitiser missed something. */
function pageHeaders(remotePictures: boolean): Record<string, string> {
  return {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": `sandbox allow-popups allow-popups-to-escape-sandbox allow-same-origin; default-src 'none'; script-src 'none'; img-src 'self' data:${
      remotePictures ? " https: http:" : ""
    }; style-src 'unsafe-inline'; frame-ancestors 'self'`,
    "x-content-type-options": "nosniff",
    "x-dns-prefetch-control": "off",
    "cache-control": "private, no-store",
    "referrer-policy": "no-referrer",
  };
}
