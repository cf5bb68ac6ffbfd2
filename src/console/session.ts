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

/** What `inboxd console` wrote behind the address. No server has seen it, and it does not stay in the history. */
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

/** Trades a key, or the token of a link, for the cookie of a session; answers what is wrong with it, if anything is. */
export async function signIn(key: string): Promise<string | undefined> {
  const response = await fetch(new URL("console/session", service), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ key }),
  });
  if (!response.ok) {
    return response.status === 401
      ? "This key is not known. It may have been revoked, or the link may be older than five minutes."
      : `The service answered ${response.status}. Try again in a moment.`;
  }
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
