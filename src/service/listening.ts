import type { Database } from "../database/db.ts";
import type { Authenticator } from "../flows/account/authenticate.ts";
import type { ClosedAccounts } from "../flows/account/closed-accounts.ts";
import type { AccountRules } from "../flows/account-rules.ts";
import { type EventFeeds, eventFeeds } from "../flows/events/event-feeds.ts";
import type { StreamingDeps } from "../flows/events/event-stream.ts";
import { largeEvents } from "../flows/events/large-events.ts";
import { logTurns } from "../flows/events/log-turns.ts";
import { type OpenStreams, openStreams } from "../flows/events/open-streams.ts";
import { eventWriter } from "../flows/events/written-events.ts";
import type { Listeners } from "../flows/listeners.ts";
import { type OpenCalls, openCalls } from "../flows/open-calls.ts";
import type { AttachmentLinks } from "../flows/read/attachment-links.ts";
import { type ForgetSignal, forgetSignalsChannel } from "../store/channels.ts";
import type { Opening } from "./opening.ts";

/**
 * The most streams that read the log at the same time because they have fallen behind the events in memory. Each has a page of the log in
 * memory; the others wait.
 */
const mostLogReaders = 8;
/** The memory for events that are larger than the buffer of one client. */
const largeEventBytes = 24 << 20;

/** Makes the lists of the open requests and streams of this process, which end those that are slow or may not go on. */
export function openKeepers(
  { deps, watch, opened }: Opening,
  parts: { listeners: Listeners; isOwnKey: (keyId: string) => boolean },
): { calls: OpenCalls; streams: OpenStreams } {
  const { listeners, isOwnKey } = parts;
  const calls = openCalls({ ...deps, isOwnKey });
  opened.push(calls.stop);
  const streams = openStreams({ listeners, calls, observe: watch.streams });
  opened.push(streams.stop);
  return { calls, streams };
}

/** Opens what all streams share: the feeds of events, and the memory for large ones. */
export function openStreaming({ deps, watch, opened }: Opening, links: AttachmentLinks): StreamingDeps {
  const write = eventWriter({ ...deps, links });
  const feeds: EventFeeds = eventFeeds({ ...deps, write, observe: watch.streams });
  const large = largeEvents({ mostBytes: largeEventBytes });
  opened.push(feeds.stop);
  opened.push(large.stop);
  return { db: deps.db, feeds, write, large, turns: logTurns(mostLogReaders), observe: watch.streams };
}

interface Forgetting {
  keys: Authenticator;
  calls: Pick<OpenCalls, "checkKeys">;
  closed: Pick<ClosedAccounts, "refresh" | "setHearing">;
  rules: Pick<AccountRules, "forget" | "forgetAll">;
  forgetAddress: (username: string) => void;
  forgetHosts: () => void;
}

/**
 * Listens for signals of other processes, and drops the changed keys, accounts, addresses, domains and rules from memory. While the
 * connection for signals is lost, no key is remembered, and suspended accounts are read every second.
 */
export function hearForgetSignals(
  db: Database,
  { keys, calls, closed, rules, forgetAddress, forgetHosts }: Forgetting,
) {
  return db.listen(
    forgetSignalsChannel,
    (payload) => {
      const signal = JSON.parse(payload) as ForgetSignal;
      if (signal.kind === "address") return forgetAddress(signal.username);
      if (signal.kind === "domain") return forgetHosts();
      if (signal.kind === "rules") return rules.forget(signal.accountId);
      if (signal.kind === "account") {
        keys.forgetAll();
        closed.refresh();
        // The account may be one that was imported, with its rules.
        rules.forget(signal.id);
      } else keys.forget(signal.hash);
      calls.checkKeys();
    },
    (hears) => {
      keys.setHearing(hears);
      closed.setHearing(hears);
      // A signal may have been lost before.
      if (hears) rules.forgetAll();
    },
  );
}
