import type { Chance } from "../chance.ts";
import type { Known } from "./values.ts";

const idNames: Readonly<Record<string, string>> = {
  inboxId: "inb",
  inbox_id: "inb",
  threadId: "thr",
  thread_id: "thr",
  messageId: "msg",
  up_to_message_id: "msg",
  readUpToMessageId: "msg",
  eventId: "evt",
  webhookId: "whk",
  after: "evt",
};

/** The number of values remembered of each kind. */
const mostRemembered = 40;

interface Link {
  message_id: string;
  filename: string;
  expires: string;
  signature: string;
}

/** Values from earlier answers, for the next requests. */
export function knownThings(webhookUrl: string) {
  const pools = new Map<string, string[]>();
  const remember = (kind: string, value: string, chance: Chance) => {
    const pool = pools.get(kind) ?? [];
    pools.set(kind, pool);
    if (pool.includes(value)) return;
    if (pool.length < mostRemembered) pool.push(value);
    else pool[chance.whole(1, pool.length - 1)] = value;
  };
  return {
    /** An inbox that is never deleted, so that requests always find one. */
    isKept: (id: string) => pools.get("inb")?.[0] === id,
    /** Remembers the values of an answer. */
    learn(body: string, chance: Chance): void {
      for (const [id] of body.matchAll(/\b(?:inb|thr|msg|evt|whk)_[0-9a-z]{26}\b/g))
        remember(id.slice(0, 3), id, chance);
      for (const [address] of body.matchAll(/\b[a-z0-9.-]+@inbox\.localhost\b/g)) remember("address", address, chance);
      for (const [, link = ""] of body.matchAll(/\/v1\/attachments\/([^"]+)/g)) remember("link", link, chance);
    },
    forget(id: string): void {
      for (const [kind, pool] of pools) {
        pools.set(
          kind,
          pool.filter((each) => each !== id),
        );
      }
    },
    /** Values for one request, which belong together. */
    forRequest(chance: Chance): Known {
      const of = (kind: string) => {
        const pool = pools.get(kind) ?? [];
        // The first values belong to one inbox that is never deleted, so that related values often meet in a request.
        return chance.is(0.4) ? pool[0] : pool.length === 0 ? undefined : chance.pick(pool);
      };
      const link = partsOf(of("link"));
      return {
        named(name) {
          const kind = idNames[name];
          if (kind !== undefined) return of(kind);
          if (["to", "cc", "bcc", "replyTo"].includes(name))
            return (chance.is(0.6) ? of("address") : undefined) ?? "jane@example.com";
          if (name === "url") return webhookUrl;
          // Otherwise all inboxes would have the example's name.
          if (name === "username") return `u${chance.whole(1e6, 1e9)}`;
          return link?.[name as keyof Link];
        },
      };
    },
  };
}

function partsOf(link: string | undefined): Link | undefined {
  if (link === undefined) return undefined;
  const [path = "", query = ""] = link.split("?");
  const [messageId = "", filename = ""] = path.split("/");
  const { expires = "", signature = "" } = Object.fromEntries(new URLSearchParams(query));
  return { message_id: messageId, filename: decodeURIComponent(filename), expires, signature };
}
