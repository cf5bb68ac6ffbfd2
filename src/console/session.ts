import { signal } from "@preact/signals";
import { type Route, route, service } from "./address.ts";
import { InboxdError, inboxd, isSignedOut, type Schemas } from "./api.ts";

/** The account of the session; undefined until it is loaded. */
export const account = signal<Schemas["Account"] | undefined>(undefined);

/** `manage`: everything within the reach of the key; `account`: everything, in the whole account. */
export type Right = "read" | "send" | "mark" | "manage" | "account";

const rights: Readonly<Record<string, readonly Exclude<Right, "account">[] | undefined>> = {
  full: ["read", "send", "mark", "manage"],
  agent: ["read", "send", "mark"],
  send: ["send"],
  read: ["read"],
};

/** Whether the session's key has this right. The console hides what the service would refuse. */
export function may(right: Right): boolean {
  const { access = "", inboxId = null, externalId = null } = account.value?.key ?? {};
  if (right === "account") return access === "full" && inboxId === null && externalId === null;
  return rights[access]?.includes(right) ?? false;
}

/** Whether the session's key may make inboxes: it changes mail, and is not bound to one inbox. */
export function mayMakeInboxes(): boolean {
  return may("mark") && account.value?.key.inboxId === null;
}

/** Takes the token of `inboxd console` out of the fragment, which is never sent to a server, and out of the history. */
export function takeLinkToken(): string | undefined {
  const token = new URLSearchParams(location.hash.slice(1)).get("t");
  if (token === null) return undefined;
  history.replaceState(null, "", `${location.pathname}${location.search}`);
  return token;
}

/** The address for which the account was loaded with the session, until a screen there has shown its counts. */
let loadedFor: Route | undefined;

/** The account with its current counts. The screen that a page opens with takes those that came with the session. */
export async function currentAccount(): Promise<Schemas["Account"]> {
  const isLoaded = loadedFor === route.peek();
  loadedFor = undefined;
  if (!isLoaded) account.value = await inboxd.account.get();
  return account.value as Schemas["Account"];
}

export async function findAccount(): Promise<void> {
  try {
    account.value = await inboxd.account.get();
    loadedFor = route.peek();
    isSignedOut.value = false;
  } catch (error) {
    if (error instanceof InboxdError && error.status === 401) return;
    throw error;
  }
}

/** Exchanges an API key for a session cookie. Returns an error text if it fails. */
export async function signIn(key: string): Promise<string | undefined> {
  const response = await askForSession({ key });
  if (response.status === 401) return "Unknown API key. It may have been revoked.";
  return faultOf(response);
}

/**
 * A link for another account than that of the session: its token, and the names of both accounts, so that the user can
 * choose.
 */
export interface OpenLink {
  token: string;
  account: string;
  current: string;
}

/**
 * Exchanges the token of a sign-in link for a session cookie. Returns an error text if it fails. If the browser has a
 * session for another account, the service requires `confirm`, and the result names both accounts.
 */
export async function signInByLink(token: string, confirm = false): Promise<OpenLink | string | undefined> {
  const response = await askForSession({ link: token, confirm });
  if (response.status === 409) {
    const { account, current } = (await response.json()) as Omit<OpenLink, "token">;
    return { token, account, current };
  }
  if (response.status === 401) {
    return "This link is no longer valid: each link works once, within five minutes. Create a new one, or enter an API key.";
  }
  return faultOf(response);
}

function askForSession(body: object): Promise<Response> {
  return fetch(new URL("console/session", service), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

async function faultOf(response: Response): Promise<string | undefined> {
  if (!response.ok) return `The service answered ${response.status}. Try again in a moment.`;
  await findAccount();
  if (account.value === undefined || isSignedOut.value) return withoutCookie();
  goBackToQuestion();
  return undefined;
}

/** Leads back to the page on which a program asks for access, if a person came from there to sign in. */
function goBackToQuestion(): void {
  const next = new URLSearchParams(location.search).get("next");
  if (next?.startsWith("authorize?")) location.assign(new URL(`oauth/${next}`, service));
}

export async function signOut(): Promise<void> {
  await fetch(new URL("console/session", service), { method: "DELETE" });
  account.value = undefined;
  isSignedOut.value = true;
}

function withoutCookie(): string {
  return "The browser did not keep the session. Allow cookies for this site.";
}

/** Whether the page was opened over plain http from another machine, where a browser keeps no session cookie. */
export function isInsecure(): boolean {
  return !isSecureContext;
}
