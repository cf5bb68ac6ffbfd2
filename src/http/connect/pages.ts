import type { AuthorizationParameters, GrantedAccess } from "../../domain/connect/authorization.ts";
import { hostOfRedirectUri, sourceOfRedirectUri } from "../../domain/connect/redirect-uri.ts";
import { type Html, html } from "../docs/html.ts";
import { consoleLook, pageHead } from "../shell/page-head.ts";
import type { Answering } from "./open-door.ts";

/** A page has no script. Its form goes to this service, whose answer leads to the client. */
function headersOf(formTarget: string | undefined): Record<string, string> {
  const targets = ["'self'", formTarget].filter((target) => target !== undefined).join(" ");
  return {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": `default-src 'none'; style-src 'self'; img-src 'self'; form-action ${targets}; base-uri 'none'; frame-ancestors 'none'`,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    // With `no-referrer`, browsers would post the form with `Origin: null`, like a form of another site.
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
  };
}

async function page(
  set: Answering,
  { title, head = html``, body, formTarget }: { title: string; head?: Html; body: Html; formTarget?: string },
): Promise<string> {
  const { style } = await import("../console/assets.ts");
  Object.assign(set.headers, headersOf(formTarget));
  return html`<!doctype html>
<html lang="en">
${pageHead({ title: `${title} · inboxd`, more: html`${consoleLook("../", style.name)}${head}` })}
<body>
<main class="sign-in"><div class="sign-in-card">
<img class="mark" src="../favicon.svg" alt="" width="32" height="32">
<h1>${title}</h1>
${body}</div></main>
</body>
</html>
`.html;
}

/** A fault that the client cannot be told, since its address is not known to be its own. */
export function faultPage(set: Answering, why: string): Promise<string> {
  set.status = 400;
  return page(set, {
    title: "This program cannot connect",
    body: html`<p>${why}.</p><p>Start again in the program. If it happens again, tell its makers.</p>\n`,
  });
}

/**
 * Loads the question once more, from a page of ours: a browser sends the cookie of the session only then, and not for the link of
 * another site.
 */
export function againPage(set: Answering, question: string): Promise<string> {
  return page(set, {
    title: "Connect a program",
    head: html`<meta http-equiv="refresh" content="0;url=${question}">\n`,
    body: html`<p><a href="${question}">Continue</a></p>\n`,
  });
}

/** Tells a person without a session how to get one, and how to come back. */
export function signInPage(set: Answering, question: string): Promise<string> {
  const next = `../console/?${new URLSearchParams({ next: question })}`;
  return page(set, {
    title: "Sign in to inboxd first",
    body: html`<p>A program asks for access to your mail. Sign in to decide.</p>
<ol class="sign-in-steps">
<li>On the machine that runs the service, run <code>inboxd console</code> and open its link. Or <a href="${next}">sign in with an API key</a>.</li>
<li>Come back to this page.</li>
</ol>
<p><a class="button primary" href="${question}">Continue</a></p>
`,
  });
}

export interface Consent {
  clientName: string;
  redirectUri: string;
  accountName: string;
  parameters: AuthorizationParameters;
  /** The token against forged answers. */
  token: string;
  accesses: readonly GrantedAccess[];
  /** The reach of the session, if that is a part of the account: then the grant has it too. */
  boundTo: string | undefined;
  /** Some of the inboxes and tenants to choose from. */
  addresses: readonly string[];
  externalIds: readonly string[];
  /** The fields of the last answer. */
  chosen: Readonly<Record<string, string>>;
  /** The fault of the last answer. */
  fault: string | undefined;
}

const accessWords: Readonly<Record<GrantedAccess, { name: string; more: string }>> = {
  read: { name: "Read", more: "messages, threads and files" },
  agent: { name: "Read, write and send", more: "also replies, sends, marks and creates inboxes; never deletes" },
};

/** Asks a person whether the client gets access, and to what. */
export function consentPage(set: Answering, consent: Consent): Promise<string> {
  const { clientName, redirectUri, accountName, parameters, token, accesses, boundTo, chosen, fault } = consent;
  const kept = Object.entries({ ...parameters, consent: token }).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">\n`,
  );
  const access = accesses.find((each) => each === chosen.access) ?? accesses[0];
  return page(set, {
    title: "Connect a program",
    formTarget: sourceOfRedirectUri(redirectUri),
    body: html`<p>A program that calls itself <strong>${clientName}</strong> asks for access to the account <strong>${accountName}</strong>. The answer goes to <strong>${hostOfRedirectUri(redirectUri)}</strong>.</p>
<p>Nobody has checked its name. Go on only if you have just started this.</p>
${fault !== undefined && html`<p class="fault" role="alert">${fault}</p>\n`}<form method="post" action="authorize">
${kept}<fieldset class="choices"><legend>The program may</legend>
${accesses.map((each) => html`${radio("access", each, each === access)} <span>${accessWords[each].name}<small>${accessWords[each].more}</small></span></label>\n`)}</fieldset>
${boundTo === undefined ? reachChoice(consent) : html`<p>It reaches ${boundTo}, as your session does.</p>\n`}<div class="choice-buttons">
<button type="submit" class="primary" name="decision" value="allow">Allow</button>
<button type="submit" name="decision" value="deny">Deny</button>
</div>
</form>
<p>You can end this at any time in the console, under Keys.</p>
`,
  });
}

function reachChoice({ addresses, externalIds, chosen }: Consent): Html {
  const { reach = "account", inbox = "", externalId = "" } = chosen;
  const option = (value: string) => html`<option value="${value}"></option>`;
  return html`<fieldset class="choices"><legend>It reaches</legend>
${radio("reach", "account", reach === "account")} <span>All inboxes<small>now and later</small></span></label>
${radio("reach", "inbox", reach === "inbox")} <span>One inbox
<input name="inbox" value="${inbox}" list="inboxes" autocomplete="off" spellcheck="false" placeholder="ada@example.com" aria-label="Address of the inbox"></span></label>
${radio("reach", "tenant", reach === "tenant")} <span>The inboxes with one externalId
<input name="externalId" value="${externalId}" list="tenants" autocomplete="off" spellcheck="false" placeholder="customer-42" aria-label="externalId"></span></label>
</fieldset>
<datalist id="inboxes">${addresses.map(option)}</datalist>
<datalist id="tenants">${externalIds.map(option)}</datalist>
`;
}

/** The beginning of a label with its radio button. */
function radio(name: string, value: string, isChecked: boolean): Html {
  return html`<label><input type="radio" name="${name}" value="${value}"${isChecked && html` checked`}>`;
}
