import type { Resource } from "../errors.ts";

/** The resource whose id is in the path of a request. It belongs to one inbox. */
export interface NamedThing {
  resource: Extract<Resource, "inbox" | "thread" | "message" | "event" | "attachment">;
  id: string;
}

/** The resource in a path, if it belongs to one inbox: the caller must reach that inbox. */
export function namedIn(path: string): NamedThing | undefined {
  const [, , collection = "", id] = path.split("/");
  const resource = resources.get(collection);
  return resource === undefined || id === undefined || path === "/v1/events/stream" ? undefined : { resource, id };
}

const resources: ReadonlyMap<string, NamedThing["resource"]> = new Map([
  ["inboxes", "inbox"],
  ["threads", "thread"],
  ["messages", "message"],
  ["events", "event"],
  // The path has the id of the attachment's message.
  ["attachments", "attachment"],
]);
