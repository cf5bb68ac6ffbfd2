import { type AnyElysia, Elysia } from "elysia";
import viewer from "rapidoc/dist/rapidoc-min.js" with { type: "file" };
import { type Description, describe } from "../document/openapi.ts";

/** The document and a page that shows it. Nothing is fetched from elsewhere, and the page could not if it tried. */
export function docs(plugins: readonly AnyElysia[], description: Description) {
  let document: Promise<string> | undefined;
  return new Elysia()
    .get(
      "/openapi.json",
      async ({ set }) => {
        document ??= describe(plugins, description).then((made) => JSON.stringify(made));
        set.headers["content-type"] = "application/json";
        return await document;
      },
      hidden,
    )
    .get(
      "/docs",
      ({ set }) => {
        Object.assign(set.headers, pageHeaders);
        return page;
      },
      hidden,
    )
    .get(
      "/docs/viewer.js",
      ({ set }) => {
        Object.assign(set.headers, scriptHeaders);
        return Bun.file(viewer);
      },
      hidden,
    );
}

const hidden = { detail: { hide: true } };

const pageHeaders = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
};

const scriptHeaders = {
  "content-type": "text/javascript; charset=utf-8",
  "cache-control": "public, max-age=86400",
  "x-content-type-options": "nosniff",
};

// Addresses are relative, so that the page also works under a proxy's prefix.
const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>inboxd API</title>
<link rel="icon" href="data:,">
<script type="module" src="docs/viewer.js"></script>
</head>
<body>
<rapi-doc spec-url="openapi.json" load-fonts="false" render-style="read" show-header="false"
  theme="light" primary-color="#1f6feb" nav-bg-color="#f6f8fa" schema-style="table" default-schema-tab="schema"
  allow-spec-url-load="false" allow-spec-file-load="false" persist-auth="false"></rapi-doc>
</body>
</html>
`;
