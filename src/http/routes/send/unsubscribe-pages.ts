import { html } from "../../docs/html.ts";
import { type PlainPage, plainPages } from "../../shell/plain-page.ts";

/** The pages that recipients of mail see. */
const shown = plainPages({
  style: "",
  policy: (style) =>
    `default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; style-src ${style}`,
});

function page(status: number, title: string, body: PlainPage["body"], headers: Record<string, string> = {}): Response {
  return shown({ status, title, body, headers });
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
