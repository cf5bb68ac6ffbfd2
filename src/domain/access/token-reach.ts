import type { Resource } from "../errors.ts";

/** The resource in the path of a request. It belongs to one inbox. */
export interface NamedThing {
  resource: Extract<Resource, "inbox" | "thread" | "message" | "event" | "attachment">;
  id: string;
}

/**
 * Whether a token may make a request, by the path alone: unknown paths are forbidden. A named resource belongs to one
 * inbox, which the token must reach. `all` marks lists, which show only what the token reaches. The deliveries of an
 * event need a key, because they show what all webhook receivers of the account answered.
 */
export function readByToken(method: string, path: string): NamedThing | "all" | "forbidden" {
  if (!readingMethods.has(method)) return "forbidden";
  const [, version, collection = "", id, part] = path.split("/");
  if (version !== "v1" || (collection === "events" && part !== undefined)) return "forbidden";
  if (id === undefined || alwaysNarrowed.has(path)) return shownInPart.has(collection) ? "all" : "forbidden";
  const resource = namedIn.get(collection);
  return resource === undefined ? "forbidden" : { resource, id };
}

const readingMethods: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

const shownInPart: ReadonlySet<string> = new Set(["account", "inboxes", "events", "ws"]);

const alwaysNarrowed: ReadonlySet<string> = new Set(["/v1/events/stream"]);

const namedIn: ReadonlyMap<string, NamedThing["resource"]> = new Map([
  ["inboxes", "inbox"],
  ["threads", "thread"],
  ["messages", "message"],
  ["events", "event"],
  // The path has the id of the attachment's message.
  ["attachments", "attachment"],
]);
