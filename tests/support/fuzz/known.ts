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

/** As many of a kind as are remembered. */
const mostRemembered = 40;

interface Link {
  message_id: string;
  filename: string;
  expires: string;
  signature: string;
}

/** What the service has told of so far, for the next requests. */
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
    /** Of an inbox that is not to be deleted, so that there is always something to ask for. */
    isKept: (id: string) => pools.get("inb")?.[0] === id,
    /** Takes what is new in an answer. */
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
    /** For one request, whose parts then belong together. */
    forRequest(chance: Chance): Known {
      const of = (kind: string) => {
        const pool = pools.get(kind) ?? [];
        // The first are of one inbox, which is never deleted: what belongs together is often asked for together.
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
          // Else all of them would want the one name of the example.
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
