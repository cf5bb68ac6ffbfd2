import type { Config } from "../config.ts";
import type { DnsClient } from "../dns/client.ts";
import type { ClosedAccounts } from "../flows/account/closed-accounts.ts";
import type { AccountRules } from "../flows/account-rules.ts";
import type { Deps } from "../flows/deps.ts";
import type { Watch } from "../metrics/watch.ts";

/** The dependencies of each part of the service. A part pushes on `opened` a function that closes what it has opened. */
export interface Opening {
  config: Config;
  deps: Deps;
  watch: Watch;
  closed: ClosedAccounts;
  /** The one DNS client, so that all parts share its memory and its bounds. */
  dns: DnsClient;
  rules: AccountRules;
  /** Whether other processes of this start listen at the same ports. */
  sharesPorts: boolean;
  opened: Closers;
}

/** The functions that close what has been opened. */
export interface Closers {
  push: (close: () => unknown) => void;
  /** Closes in reverse order, also after a failure of one of them. */
  closeAll: () => Promise<void>;
}

export function closers(): Closers {
  const opened: (() => unknown)[] = [];
  return {
    push: (close) => void opened.push(close),
    async closeAll() {
      for (const close of opened.splice(0).toReversed()) {
        try {
          await close();
        } catch {
          // An error is ignored, so that the other parts are closed too.
        }
      }
    },
  };
}
