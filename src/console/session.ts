import { signal } from "@preact/signals";
import { service } from "./address.ts";
import { InboxdError, inboxd, isSignedOut, type Schemas } from "./api.ts";

/** Whose console this is; undefined until it is known. */
export const account = signal<Schemas["Account"] | undefined>(undefined);

type Right = "read" | "send" | "mark" | "manage";

const rights: Readonly<Record<string, readonly Right[] | undefined>> = {
  full: ["read", "send", "mark", "manage"],
  agent: ["read", "send", "mark"],
  send: ["send"],
  read: ["read"],
};

/** Whether something is offered: what the session's key may not do, the service would refuse. */
export function may(right: Right): boolean {
  return rights[account.value?.key.access ?? ""]?.includes(right) ?? false;
}

/** The token that `inboxd console` wrote behind the address. No server has seen it, and it does not stay in the history. */
export function takeLinkToken(): string | undefined {
  const token = new URLSearchParams(location.hash.slice(1)).get("t");
  if (token === null) return undefined;
  history.replaceState(null, "", `${location.pathname}${location.search}`);
  return token;
}

export async function findAccount(): Promise<void> {
  try {
    account.value = await inboxd.request("GET", "/v1/account", {});
    isSignedOut.value = false;
  } catch (error) {
    if (error instanceof InboxdError && error.status === 401) return;
    throw error;
  }
}

/** Trades an API key for the cookie of a session; answers what is wrong with it, if anything is. */
export async function signIn(key: string): Promise<string | undefined> {
  const response = await askForSession({ key });
  if (response.status === 401) return "This key is not known. It may have been revoked.";
  return faultOf(response);
}

/** The token of a link, and the two accounts between which the person at the browser has to choose. */
export interface OpenLink {
  token: string;
  account: string;
  current: string;
}

/**
 * Trades the token of a link for the cookie of a session. Where the browser has a session already, the service wants `confirm`: the
 * answer then is the question to ask. Else it is what is wrong with the link, if anything is.
 */
export async function signInByLink(token: string, confirm = false): Promise<OpenLink | string | undefined> {
  const response = await askForSession({ link: token, confirm });
  if (response.status === 409) {
    const { account, current } = (await response.json()) as Omit<OpenLink, "token">;
    return { token, account, current };
  }
  if (response.status === 401) {
    return "This link is not valid any more: each signs in once, within five minutes. Make a new one, or enter an API key.";
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
  return account.value === undefined || isSignedOut.value ? withoutCookie() : undefined;
}

export async function signOut(): Promise<void> {
  await fetch(new URL("console/session", service), { method: "DELETE" });
  account.value = undefined;
  isSignedOut.value = true;
}

function withoutCookie(): string {
  return "The browser did not keep the session. Cookies of this site must be allowed.";
}

/** Browsers tell a server who asks only by https or on this very machine; without it no session is taken. */
export function isTooOpen(): boolean {
  return !isSecureContext;
}
