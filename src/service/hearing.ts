import type { Database } from "../database/db.ts";
import type { Authenticator } from "../flows/account/authenticate.ts";
import type { OpenStreams } from "../flows/events/open-streams.ts";
import type { ForgetSignal } from "../store/account/forget-signals.ts";
import { forgetSignalsChannel } from "../store/channels.ts";

interface Told {
  keys: Authenticator;
  streams: Pick<OpenStreams, "checkKeys">;
  forgetAddress: (username: string) => void;
}

/** What another process changed is forgotten here too; while nothing can be heard, nothing is remembered. */
export function hearForgetSignals(db: Database, { keys, streams, forgetAddress }: Told) {
  return db.listen(
    forgetSignalsChannel,
    (payload) => {
      const signal = JSON.parse(payload) as ForgetSignal;
      if (signal.kind === "address") return forgetAddress(signal.username);
      keys.forget(signal.hash);
      streams.checkKeys();
    },
    keys.setHearing,
  );
}
