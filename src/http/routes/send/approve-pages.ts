import type { Draft, DraftState } from "../../../domain/send/draft.ts";
import type { ApprovalView } from "../../../flows/send/approval-view.ts";
import { type Html, html } from "../../docs/html.ts";
import { plainPages } from "../../shell/plain-page.ts";

/** The pages on which a person approves or rejects a mail. */
const page = plainPages({
  style: `
main{max-width:46rem;margin:4vh auto 2rem}
dl{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:.25rem 1rem;margin:0 0 1rem}
dt{color:#59636e}
dd{margin:0;overflow-wrap:anywhere}
dd span{display:block;unicode-bidi:isolate}
a{color:#0b57d0}
mark{padding:0 .35rem;border-radius:.3rem;background:#fff1c2;color:#5c4300;font-size:.85em;white-space:nowrap}
h2{font-size:1rem;margin:1rem 0 .25rem}
pre{font:inherit;unicode-bidi:plaintext;white-space:pre-wrap;overflow-wrap:anywhere;margin:0 0 1rem;padding:1rem;border:1px solid #d1d9e0;border-radius:.4rem;background:#fff}
label{display:block;margin:0 0 .25rem}
textarea{font:inherit;display:block;width:100%;box-sizing:border-box;margin:0 0 1rem;padding:.5rem;border:1px solid #818b98;border-radius:.4rem;background:#fff;color:inherit}
button[value=reject]{margin-left:.75rem;background:#c52a33}
@media (max-width:30rem){main{padding:1rem}dl{grid-template-columns:minmax(0,1fr);gap:0}dd{margin:0 0 .5rem}}
@media (prefers-color-scheme:dark){dt{color:#9198a1}a{color:#71a7ff}mark{background:#4d3c00;color:#ffe08a}pre,textarea{background:#151b23;border-color:#3d444d}}`,
  policy: (style) => `default-src 'none'; style-src ${style}; form-action 'self'; frame-ancestors 'none'`,
  headers: { "x-robots-tag": "noindex" },
});

/** Shows a mail that waits, with a form. Only the form decides, because scanners of mail open every link. */
export function waitingPage({ draft, from, text, otherText, files }: ApprovalView): Response {
  const { approval, content, sendAt, version } = draft;
  const fresh = new Set(approval?.newRecipients);
  const recipients = content?.recipients ?? [];
  const field = (name: string, values: readonly Html[]) =>
    values.length > 0 && html`<dt>${name}</dt><dd>${values}</dd>\n`;
  const people = (type: string) =>
    recipients
      .filter((recipient) => recipient.type === type)
      .map(
        ({ name, address }) =>
          html`<span>${mailbox({ name, address })}${fresh.has(address) && html` <mark>new recipient</mark>`}</span>`,
      );
  const line = (text: string | null | undefined) => (text ? [html`<span>${text}</span>`] : []);
  return page({
    status: 200,
    title: "Approve this mail?",
    body: html`<p>It is sent only if you approve it${approval !== null && html`, until ${utc(approval.expiresAt)}`}.</p>
<dl>
${field("From", line(mailbox(from)))}${field("To", people("to"))}${field("Cc", people("cc"))}${field("Bcc", people("bcc"))}${field("Replies to", line(content?.replyTo))}${field("Subject", line(content?.subject))}${field("Sent at", line(sendAt && utc(sendAt.toISOString())))}${field(
  "Files",
  files.map(
    ({ filename, url, sizeBytes }) => html`<span><a href="${url}">${filename}</a> (${kibibytes(sizeBytes)} KiB)</span>`,
  ),
)}</dl>
<pre>
${text}</pre>
${
  otherText !== undefined &&
  html`<h2>Most programs show this version</h2>\n<pre>
${otherText}</pre>\n`
}<form method="post">
<input type="hidden" name="version" value="${version}">
<label for="reason">Reason, if you reject it</label>
<textarea id="reason" name="reason" rows="2" maxlength="500"></textarea>
<button type="submit" name="decision" value="approve">Approve</button>
<button type="submit" name="decision" value="reject">Reject</button>
</form>
`,
  });
}

function mailbox({ name, address }: { name?: string | null | undefined; address: string }): string {
  return name == null ? address : `${name} <${address}>`;
}

/** Says what became of a mail that does not wait any more in the version of the link. It has no buttons. */
export function outcomePage({ draft, version }: { draft: Draft; version: number }): Response {
  const { title, text } = outcomeOf(draft, version);
  const { approval, content } = draft;
  const subject = content?.subject;
  return page({
    status: 200,
    title,
    body: html`${subject !== undefined && html`<p><strong>${subject}</strong></p>\n`}<p>${text}</p>
${approval?.reason != null && html`<p>Reason: ${approval.reason}</p>\n`}`,
  });
}

interface Outcome {
  title: string;
  text: string;
}

function outcomeOf({ state, approval, ...draft }: Draft, version: number): Outcome {
  const by = deciderOf(approval);
  const at = approval?.decidedAt == null ? "" : ` at ${utc(approval.decidedAt)}`;
  if (approval?.decision === "rejected")
    return { title: "Rejected", text: `${by} rejected this mail${at}. It is not sent.` };
  if (approval?.decision === "approved")
    return { title: "Approved", text: `${by} approved this mail${at}. ${afterApproval[state] ?? ""}` };
  if (state === "awaiting_approval" && draft.version !== version)
    return {
      title: "This mail was changed",
      text: "It waits for approval in another version, which has a link of its own.",
    };
  return unapproved[state] ?? { title: "This mail does not wait any more", text: "There is nothing to decide." };
}

/** The outcome of an approved mail, by its state. */
const afterApproval: Partial<Record<DraftState, string>> = {
  scheduled: "It is on its way, or goes out at its time.",
  sent: "It was sent.",
  canceled: "It was canceled before it was sent.",
  failed: "It was not sent.",
};

/** The outcome of a mail about which nobody has decided, by its state. */
const unapproved: Partial<Record<DraftState, Outcome>> = {
  expired: { title: "Too late", text: "Nobody decided in time, so this mail is not sent." },
  canceled: { title: "Canceled", text: "This mail was canceled. It is not sent." },
  sent: { title: "Sent", text: "This mail was sent without an approval, because it needed none any more." },
};

function deciderOf(approval: Draft["approval"]): string {
  const by = approval?.decidedBy;
  if (by == null) return "Somebody";
  return "address" in by ? by.address : `The holder of the key ${by.key}`;
}

export function refusedPage(): Response {
  return page({
    status: 403,
    title: "This link does not work",
    body: html`<p>It is not complete, it is over, or it belongs to somebody who approves no mail here any more.</p>\n`,
  });
}

/** The page for a form that no button of ours sent. */
export function wrongFormPage(why: string): Response {
  return page({ status: 400, title: "Nothing was decided", body: html`<p>${why}.</p>\n` });
}

export function tooManyPage(retryAfterSeconds: number): Response {
  return page({
    status: 429,
    title: "Try again in a minute",
    body: html`<p>Too many requests came from your network. Nothing was decided.</p>\n`,
    headers: { "retry-after": String(retryAfterSeconds) },
  });
}

/** The page for all other errors. */
export function failedPage(status: number): Response {
  const text =
    status >= 500
      ? "The service cannot answer now. Try again in a minute."
      : "The service does not take this. The account may be suspended.";
  return page({ status, title: "Nothing was decided", body: html`<p>${text}</p>\n` });
}

/** An instant for people anywhere, to the minute. */
function utc(instant: string): string {
  return `${instant.slice(0, 16).replace("T", " ")} UTC`;
}

/** A size in KiB, rounded up. */
function kibibytes(bytes: number): number {
  return Math.ceil(bytes / 1024);
}
