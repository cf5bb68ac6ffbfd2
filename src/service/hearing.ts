import type { Database } from "../database/db.ts";
import type { Authenticator } from "../flows/account/authenticate.ts";
import type { ForgetSignal } from "../store/account/forget-signals.ts";
import { forgetSignalsChannel } from "../store/channels.ts";

/** What another process changed is forgotten here too; while nothing can be heard, nothing is remembered. */
export function hearForgetSignals(db: Database, keys: Authenticator, forgetAddress: (username: string) => void) {
  return db.listen(
    forgetSignalsChannel,
    (payload) => {
      const signal = JSON.parse(payload) as ForgetSignal;
      if (signal.kind === "key") keys.forget(signal.hash);
      else forgetAddress(signal.username);
    },
    keys.setHearing,
  );
}
