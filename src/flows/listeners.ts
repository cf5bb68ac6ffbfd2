import { Refusal } from "../domain/errors.ts";

/** The kinds of requests that stay open. Each takes memory until it ends. */
export const listenerKinds = ["wait", "sse", "ws"] as const;
export type ListenerKind = (typeof listenerKinds)[number];

/** The most listeners that may be open at the same time. */
export interface ListenerLimits {
  perAccount: number;
  perProcess: number;
}

export interface Listeners {
  /** Counts a listener, or throws if there are too many. Returns a function that removes it from the count; a second call does nothing. */
  open(kind: ListenerKind, accountId: string): () => void;
  /** The number of open listeners of a kind. */
  count(kind: ListenerKind): number;
}

export function listeners({ perAccount, perProcess }: ListenerLimits): Listeners {
  const byKind = { wait: 0, sse: 0, ws: 0 };
  const byAccount = new Map<string, number>();
  let inAll = 0;

  return {
    open(kind, accountId) {
      const ofAccount = byAccount.get(accountId) ?? 0;
      if (ofAccount >= perAccount) throw tooMany("account", perAccount);
      if (inAll >= perProcess) throw tooMany("process", perProcess);
      inAll += 1;
      byKind[kind] += 1;
      byAccount.set(accountId, ofAccount + 1);
      let isOpen = true;
      return () => {
        if (!isOpen) return;
        isOpen = false;
        inAll -= 1;
        byKind[kind] -= 1;
        const left = (byAccount.get(accountId) ?? 1) - 1;
        if (left === 0) byAccount.delete(accountId);
        else byAccount.set(accountId, left);
      };
    },
    count: (kind) => byKind[kind],
  };
}

function tooMany(scope: "account" | "process", limit: number): Refusal {
  const whose = scope === "account" ? "this account has" : "this process has";
  return new Refusal("too_many_listeners", `Cannot wait: ${whose} ${limit} requests waiting or streaming already`, {
    extra: { limit, scope },
    retryAfterSeconds: 1,
  });
}
