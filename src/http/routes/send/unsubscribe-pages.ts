import { sha256Base64 } from "../../../standards/digest.ts";
import { type Html, html, trusted } from "../../docs/html.ts";
import { pageHead } from "../../shell/page-head.ts";

/** The pages that recipients of mail see. They load nothing, because the console with its style may be off. */
const style = `body{margin:0;font:16px/1.5 system-ui,sans-serif;background:#f6f8fa;color:#1f2328}
main{max-width:26rem;margin:12vh auto 2rem;padding:1.5rem;box-sizing:border-box}
h1{font-size:1.35rem;margin:0 0 .75rem}
p{margin:0 0 1rem;overflow-wrap:anywhere}
button{font:inherit;font-weight:600;padding:.6rem 1.2rem;border:0;border-radius:.4rem;background:#1f6feb;color:#fff;cursor:pointer}
button:focus-visible{outline:3px solid #1f6feb;outline-offset:2px}
@media (prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}}`;

/** Nothing is allowed but the form and this one style, by its hash. */
const headers = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": `default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; style-src 'sha256-${sha256Base64(style)}'`,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
};

function page(status: number, title: string, body: Html, more: Record<string, string> = {}): Response {
  const text = html`<!doctype html>
<html lang="en">
${pageHead({ title, more: html`<style>${trusted(style)}</style>\n` })}
<body>
<main>
<h1>${title}</h1>
${body}</main>
</body>
</html>
`.html;
  return new Response(text, { status, headers: { ...headers, ...more } });
}

/** Asks the recipient. Only the form of this page changes something, because scanners of mail fetch every link. */
export function questionPage(sender: string): Response {
  return page(
    200,
    "Unsubscribe",
    html`<p>Do you want no more mail from <strong>${sender}</strong>?</p>
<form method="post"><input type="hidden" name="List-Unsubscribe" value="One-Click">
<button type="submit">Unsubscribe</button></form>
`,
  );
}

export function donePage(sender: string): Response {
  const body = html`<p><strong>${sender}</strong> sends you no more mail. Mail that is on its way may still arrive.</p>\n`;
  return page(200, "You are unsubscribed", body);
}

export function unknownPage(): Response {
  const body = html`<p>It is not complete, or its mail is not known here any more. Tell the sender in a reply.</p>\n`;
  return page(404, "This link does not work", body);
}

export function tooManyPage(retryAfterSeconds: number): Response {
  const body = html`<p>Too many requests came from your network. Try again in a minute.</p>\n`;
  return page(429, "Try again in a minute", body, { "retry-after": String(retryAfterSeconds) });
}
