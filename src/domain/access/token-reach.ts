import type { Resource } from "../errors.ts";

/** The resource whose id is in the path of a request. It belongs to one inbox. */
export interface NamedThing {
  resource: Extract<Resource, "inbox" | "thread" | "message" | "event" | "attachment">;
  id: string;
}

/**
 * Decides by method and path what a token may read. Returns the resource in the path: the caller checks that the token
 * is valid for its inbox. Returns `all` for a list, which is limited to the inboxes of the token. Returns `forbidden` for
 * unknown paths, and for the deliveries of an event, which show the answers of all webhook receivers of the account.
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

const shownInPart: ReadonlySet<string> = new Set(["account", "usage", "inboxes", "messages", "events", "ws"]);

const alwaysNarrowed: ReadonlySet<string> = new Set(["/v1/events/stream"]);

const namedIn: ReadonlyMap<string, NamedThing["resource"]> = new Map([
  ["inboxes", "inbox"],
  ["threads", "thread"],
  ["messages", "message"],
  ["events", "event"],
  // The path has the id of the attachment's message.
  ["attachments", "attachment"],
]);
