import type { Resource } from "../errors.ts";

/** What a request names that lies in one inbox. */
export interface NamedThing {
  resource: Extract<Resource, "inbox" | "thread" | "message" | "event" | "attachment">;
  id: string;
}

/**
 * What a token that reads may ask for, told by the path alone, so that a path nobody thought of here is forbidden and not open.
 * `named` lies in one inbox, and the token must reach that; `all` is what shows only what the token reaches. The deliveries of an
 * event are for keys alone, since they show what all webhook receivers of the account answered.
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
  // By the id of its message.
  ["attachments", "attachment"],
]);
