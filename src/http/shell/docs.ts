import { type AnyElysia, Elysia } from "elysia";
import { bundledScript, styles } from "../docs/bundle.ts" with { type: "macro" };
import { guidePages } from "../docs/guide-pages.ts";
import { docsPage } from "../docs/page.ts";
import type { Document } from "../docs/reference.ts";
import { type Description, describe } from "../document/openapi.ts";
import { type StaticText, staticText } from "./static-text.ts";

const script = bundledScript("./browser/viewer.ts");
const style = styles([
  "./browser/text.css",
  "./browser/frame.css",
  "./browser/operations.css",
  "./browser/screens.css",
]);

/** The document and a page that shows it. Nothing is fetched from elsewhere, and the page could not if it tried. */
export function docs(plugins: readonly AnyElysia[], description: Description) {
  let document: Promise<string> | undefined;
  let page: Promise<StaticText> | undefined;
  const whole = () => {
    document ??= describe(plugins, description).then((made) => JSON.stringify(made));
    return document;
  };
  return new Elysia()
    .get(
      "/openapi.json",
      async ({ set }) => {
        set.headers["content-type"] = "application/json";
        return await whole();
      },
      hidden,
    )
    .get(
      "/docs",
      async ({ request, set }) => {
        page ??= whole().then((text) =>
          staticText(docsPage(JSON.parse(text) as Document, guidePages, description.version), pageHeaders),
        );
        return (await page).answer(request, set);
      },
      hidden,
    )
    .get("/docs/viewer.js", ({ request, set }) => viewerScript.answer(request, set), hidden)
    .get("/docs/viewer.css", ({ request, set }) => viewerStyle.answer(request, set), hidden);
}

const hidden = { detail: { hide: true } };

const pageHeaders = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
};

const viewerScript = staticText(script, { "content-type": "text/javascript; charset=utf-8" });
const viewerStyle = staticText(style, { "content-type": "text/css; charset=utf-8" });
