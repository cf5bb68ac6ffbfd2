import { Type } from "@sinclair/typebox";
import type { Deps } from "../../flows/deps.ts";
import { rate } from "../../primitives/rate.ts";
import { sha256Base64 } from "../../standards/digest.ts";
import { originOf } from "../../standards/ip.ts";
import { type Html, html, trusted } from "../docs/html.ts";
import { clientAddress } from "./client-address.ts";
import { unavailable } from "./errors.ts";
import { pageHead } from "./page-head.ts";

export interface PlainPage {
  status: number;
  title: string;
  body: Html;
  headers?: Readonly<Record<string, string>>;
}

export interface LookOfPages {
  /** The style behind that of all plain pages. */
  style: string;
  /** The Content-Security-Policy, with the source of the style. */
  policy: (styleSource: string) => string;
  headers?: Readonly<Record<string, string>>;
}

/** Makes pages for people without a session. They load nothing, because the console with its style may be off, and have no script. */
export function plainPages({ style, policy, headers: more = {} }: LookOfPages): (page: PlainPage) => Response {
  const whole = common + style;
  const headers = {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": policy(`'sha256-${sha256Base64(whole)}'`),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    ...more,
  };
  return ({ status, title, body, headers: own = {} }: PlainPage): Response => {
    const text = html`<!doctype html>
<html lang="en">
${pageHead({ title, more: html`<style>${trusted(whole)}</style>\n` })}
<body>
<main>
<h1>${title}</h1>
${body}</main>
</body>
</html>
`.html;
    return new Response(text, { status, headers: { ...headers, ...own } });
  };
}

/** A page in the description of an operation. */
export function shownPage(description: string, title: string) {
  return Type.String({
    description,
    contentMediaType: "text/html",
    examples: [`<!doctype html><html lang="en"><body><h1>${title}</h1></body></html>`],
  });
}

export interface VisitsDeps extends Pick<Deps, "now"> {
  isDraining(): boolean;
  trustedProxies?: readonly string[] | undefined;
}

/** The answer of such a page to a client that asks too often. */
export const tooOften = "More than 60 requests in a minute from one address";

/**
 * Bounds the requests for pages that need no key, to 60 a minute from one network. The result says how long a client must wait, if it asks
 * too often. It throws while the service shuts down.
 */
export function visits({ isDraining, trustedProxies, now }: VisitsDeps) {
  const requests = rate<string>({ most: 60, periodMs: 60_000, keys: 10_000 });
  return (request: Request): { ip: string | null; waitSeconds: number | undefined } => {
    if (isDraining()) throw unavailable("the service is shutting down", { connection: "close" });
    const ip = clientAddress(request, trustedProxies) ?? null;
    const waitMs = requests.take(originOf(ip ?? "").network, now().getTime());
    return { ip, waitSeconds: waitMs === undefined ? undefined : Math.ceil(waitMs / 1000) };
  };
}

const common = `body{margin:0;font:16px/1.5 system-ui,sans-serif;background:#f6f8fa;color:#1f2328}
main{max-width:26rem;margin:12vh auto 2rem;padding:1.5rem;box-sizing:border-box}
h1{font-size:1.35rem;margin:0 0 .75rem}
p{margin:0 0 1rem;overflow-wrap:anywhere}
button{font:inherit;font-weight:600;padding:.6rem 1.2rem;border:0;border-radius:.4rem;background:#1f6feb;color:#fff;cursor:pointer}
button:focus-visible{outline:3px solid #1f6feb;outline-offset:2px}
@media (prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}}`;
