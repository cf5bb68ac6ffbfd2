import type { Fetch } from "../../sdk/typescript/src/options.ts";
import { type Caller, wholeAccount } from "../domain/access/access.ts";
import type { Authenticator } from "../flows/account/authenticate.ts";
import type { Deps } from "../flows/deps.ts";
import { sha256Hex } from "../standards/digest.ts";
import { findFirstAccount } from "../store/account/accounts.ts";

export interface OwnKey {
  /** Accepts the keys of the database, and also the key of this process once it is made. */
  keys: Authenticator;
  /** Makes the key. Returns a `fetch` that sends its requests with it. */
  asking(ask: Fetch): Promise<Fetch>;
  /** Whether this is the id of the key of this process, which the database does not have. */
  isOwnKey(keyId: string): boolean;
}

/**
 * Adds a key of the first account that exists only in this process's memory. No stored key can be used for this, because the database has
 * only hashes of keys.
 */
export function withOwnKey(deps: Deps, keys: Authenticator): OwnKey {
  const drawn = new Map<string, Caller>();
  const ids = new Set<string>();
  return {
    keys: {
      ...keys,
      authenticate: async (credential) =>
        (drawn.size === 0 ? undefined : drawn.get(sha256Hex(credential))) ?? keys.authenticate(credential),
    },
    async asking(ask) {
      const account = await findFirstAccount(deps.db.api);
      if (account === undefined) throw new Error("Cannot ask the API: there is no account");
      const key = deps.randomBytes(32).toHex();
      const keyId = deps.newId("key", deps.now());
      ids.add(keyId);
      drawn.set(sha256Hex(key), wholeAccount(account, keyId));
      return (path, init) => {
        const headers = new Headers(init.headers);
        headers.set("authorization", `Bearer ${key}`);
        return ask(path, { ...init, headers });
      };
    },
    isOwnKey: (keyId) => ids.has(keyId),
  };
}
