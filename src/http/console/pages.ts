import { Elysia } from "elysia";
import { notFound } from "../../domain/errors.ts";
import { html } from "../docs/html.ts";
import { consoleLook, pageHead } from "../shell/page-head.ts";

/**
 * The pages of the console. Every address has the same page, whose script decides what to show. The assets are loaded
 * at the first visit. The links are relative, so that the page also works behind a proxy with a path prefix.
 */
export function consolePages() {
  return new Elysia({ prefix: "/console" })
    .get("", ({ set }) => sendTo("console/", set), hidden)
    .get("/", ({ path, set }) => page(path, set), hidden)
    .get("/assets/:name", ({ params, request, set }) => assetNamed(params.name, request, set), hidden)
    .get("/*", ({ path, set }) => page(path, set), hidden);
}

const hidden = { detail: { hide: true } };

interface Answering {
  status?: number | string;
  headers: Record<string, string | number>;
}

const nosniff = { "x-content-type-options": "nosniff" };

const pageHeaders = {
  ...nosniff,
  "content-type": "text/html; charset=utf-8",
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  "cross-origin-opener-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
};

async function page(path: string, set: Answering): Promise<string> {
  const { script, style } = await import("./assets.ts");
  // One `../` for each `/` in the path after `/console/`.
  const up = "../".repeat(path.split("/").length - 3);
  Object.assign(set.headers, pageHeaders);
  const more = html`${consoleLook(`${up}../`, style.name)}<script type="module" src="${up}assets/${script.name}"></script>\n`;
  return html`<!doctype html>
<html lang="en">
${pageHead({ title: "inboxd", more })}
<body>
<div id="console"></div>
<noscript>The console needs JavaScript. All that it does can be done by the API: see <a href="${up}../docs">the documentation</a>.</noscript>
</body>
</html>
`.html;
}

async function assetNamed(name: string, request: Request, set: Answering): Promise<string | Uint8Array<ArrayBuffer>> {
  const { assets } = await import("./assets.ts");
  const found = assets.get(name);
  if (found === undefined) throw notFound("route");
  Object.assign(set.headers, nosniff, {
    "content-type": found.type,
    "cache-control": "public, max-age=31536000, immutable",
    vary: "accept-encoding",
  });
  if (!/\bgzip\b(?!;\s*q=0(?:\.0*)?\b)/.test(request.headers.get("accept-encoding") ?? "")) return found.text;
  set.headers["content-encoding"] = "gzip";
  return found.gzip;
}

function sendTo(location: string, set: Answering): string {
  set.status = 302;
  set.headers.location = location;
  return "";
}
