import type { Database } from "../database/db.ts";
import type { Authenticator } from "../flows/account/authenticate.ts";
import { type Change, changesChannel } from "../store/account/changes.ts";

/** What another process changed is forgotten here too; while nothing can be heard, nothing is remembered. */
export function hearChanges(db: Database, keys: Authenticator, forgetAddress: (username: string) => void) {
  return db.listen(
    changesChannel,
    (payload) => {
      const change = JSON.parse(payload) as Change;
      if (change.kind === "key") keys.forget(change.hash);
      else forgetAddress(change.username);
    },
    keys.setHearing,
  );
}
