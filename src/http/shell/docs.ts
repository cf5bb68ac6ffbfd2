import { type AnyElysia, Elysia } from "elysia";
import { matchesEntityTag } from "../../standards/byte-range.ts";
import { bundledScript, styles } from "../docs/bundle.ts" with { type: "macro" };
import { guidePages, guidesOf } from "../docs/guide-pages.ts";
import { docsPage, guidePage } from "../docs/page.ts";
import type { Document } from "../docs/reference.ts";
import { madeFor, namedAfter, type ThisServer } from "../docs/this-server.ts";
import { type Description, describe } from "../document/openapi.ts";

const script = bundledScript("./browser/viewer.ts");
const style = styles([
  "./browser/text.css",
  "./browser/frame.css",
  "./browser/operations.css",
  "./browser/screens.css",
]);

export interface Described extends Omit<Description, "baseUrl"> {
  thisServer(): ThisServer;
}

/**
 * Serves the document and a page that shows it. The page's Content-Security-Policy lets it load nothing from other
 * hosts.
 */
export function docs(plugins: readonly AnyElysia[], { thisServer, ...described }: Described) {
  const document = madeFor(thisServer, async ({ baseUrl }) =>
    JSON.stringify(await describe(plugins, { ...described, baseUrl })),
  );
  const pageOf = (make: (document: Document, server: ThisServer) => string) =>
    madeFor(thisServer, async (server) => {
      const shown = JSON.parse(namedAfter(server, await document())) as Document;
      return staticText(make(shown, server), pageHeaders);
    });
  const page = pageOf((shown, server) => docsPage(shown, guidesOf(server), described.version));
  const app = new Elysia();
  for (const name of Object.keys(guidePages)) {
    const ofGuide = pageOf((shown, server) => guidePage(shown, guidesOf(server), name));
    app.get(`/docs/${name}`, async ({ request, set }) => (await ofGuide()).answer(request, set), hidden);
  }
  return app
    .get(
      "/openapi.json",
      async ({ set }) => {
        set.headers["content-type"] = "application/json";
        return await document();
      },
      hidden,
    )
    .get(
      "/docs",
      async ({ request, set }) => {
        return (await page()).answer(request, set);
      },
      hidden,
    )
    .get("/docs/viewer.js", ({ request, set }) => viewerScript.answer(request, set), hidden)
    .get("/docs/viewer.css", ({ request, set }) => viewerStyle.answer(request, set), hidden);
}

/**
 * Redirects the addresses that people try first to the documentation. The location is relative, so that it also works
 * behind a proxy with a path prefix. The status is 302, because browsers remember a permanent redirect.
 */
export function docsRedirects() {
  return new Elysia()
    .get("/", ({ set }) => sendTo("docs", set), hidden)
    .get("/docs/", ({ set }) => sendTo("../docs", set), hidden);
}

function sendTo(location: string, set: Answering): string {
  set.status = 302;
  set.headers.location = location;
  return "";
}

const hidden = { detail: { hide: true } };

const pageHeaders = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'self'; form-action 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
};

const viewerScript = staticText(script, { "content-type": "text/javascript; charset=utf-8" });
const viewerStyle = staticText(style, { "content-type": "text/css; charset=utf-8" });

interface StaticText {
  answer(request: Request, set: Answering): string | Uint8Array<ArrayBuffer> | undefined;
}

interface Answering {
  status?: number | string;
  headers: Record<string, string | number>;
}

/**
 * Serves a text that changes only with the version. Browsers revalidate it each time by its entity tag, so that script
 * and page are always of the same version.
 */
function staticText(text: string, headers: Readonly<Record<string, string>>): StaticText {
  const entityTag = `"${Bun.hash(text).toString(36)}"`;
  let compressed: Uint8Array<ArrayBuffer> | undefined;
  return {
    answer(request, set) {
      Object.assign(set.headers, headers, {
        etag: entityTag,
        "cache-control": "no-cache",
        "x-content-type-options": "nosniff",
        vary: "accept-encoding",
      });
      if (matchesEntityTag(request.headers.get("if-none-match"), entityTag)) {
        set.status = 304;
        return undefined;
      }
      if (!/\bgzip\b(?!;\s*q=0(?:\.0*)?\b)/.test(request.headers.get("accept-encoding") ?? "")) return text;
      compressed ??= Bun.gzipSync(text);
      set.headers["content-encoding"] = "gzip";
      return compressed;
    },
  };
}
