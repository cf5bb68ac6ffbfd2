import pino from "pino";
import type { Database } from "../../src/database/db.ts";
import type { Changes } from "../../src/flows/changes.ts";
import { type ListenerLimits, listeners } from "../../src/flows/listeners.ts";
import type { Extracted } from "../../src/flows/read/open-message.ts";
import { mailWaits, type WaitDeps, type WaitRequest } from "../../src/flows/read/wait-for-mail.ts";
import type { StoredMessage } from "../../src/store/mail/message-pages.ts";
import type { outboxWorld } from "./outbox-world.ts";

/** Loses every notification, also of this process. */
export const deafChanges: Pick<Changes, "notify" | "listen"> = {
  notify: () => undefined,
  listen: () => () => undefined,
};

/** Finds a code after the word "code", and a link in each mail with a URL. */
export function plainExtract({ bodyText }: Pick<StoredMessage, "bodyText">): Extracted {
  const [, code] = /code (\d+)/.exec(bodyText) ?? [];
  return {
    codes: code === undefined ? [] : [{ code }],
    links: bodyText.includes("https://") ? [{ kind: bodyText.includes("verify") ? "verify" : null }] : [],
  };
}

export interface WaitsOptions {
  db?: Database;
  changes?: Pick<Changes, "notify" | "listen">;
  limits?: ListenerLimits;
  extract?: WaitDeps["extract"];
}

type Asked = Partial<WaitRequest> & { seen?: number };

/** The waits of one process on a world's database. */
export function waitsOn(
  { deps }: Awaited<ReturnType<typeof outboxWorld>>,
  {
    db = deps.db,
    changes = deps.changes,
    limits = { perAccount: 10_000, perProcess: 10_000 },
    extract,
  }: WaitsOptions = {},
) {
  const open = listeners(limits);
  const log = pino({ level: "silent" });
  const waits = mailWaits({
    ...deps,
    db,
    log,
    changes,
    listeners: open,
    calls: { add: () => () => undefined },
    extract: extract ?? (async (_account, message) => plainExtract(message)),
  });
  return {
    count: () => open.count("wait"),
    stop: waits.stop,
    wait(inbox: { id: string; accountId: string }, { seen, ...asked }: Asked = {}) {
      return waits.wait({
        reach: { accountId: inbox.accountId },
        inboxId: inbox.id,
        signal: new AbortController().signal,
        caller: { keyId: "key_1" },
        ip: null,
        timeoutMs: 30_000,
        from: undefined,
        to: undefined,
        subject: undefined,
        threadId: undefined,
        automated: undefined,
        hasAttachment: false,
        hasCode: false,
        hasLink: false,
        after: seen === undefined ? undefined : { seen },
        since: new Date(deps.now().getTime() - 60_000),
        ...asked,
      });
    },
  };
}
