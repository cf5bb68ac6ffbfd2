import { readAttachment } from "./attachment-tool.ts";
import { searchDocs } from "./docs-tool.ts";
import { createInbox, listInboxes } from "./inbox-tools.ts";
import { readMessage, searchMessages, waitForMessage } from "./message-tools.ts";
import { cancelMessage, listDrafts, replyToThread, sendEmail } from "./send-tools.ts";
import { listThreads, markThread, markThreads, readThread } from "./thread-tools.ts";
import type { Tool } from "./tool.ts";

/** All tools, in the order of the list. */
export const tools: readonly Tool[] = [
  listInboxes,
  createInbox,
  listThreads,
  readThread,
  searchMessages,
  readMessage,
  readAttachment,
  waitForMessage,
  sendEmail,
  replyToThread,
  listDrafts,
  cancelMessage,
  markThread,
  markThreads,
  searchDocs,
];

/** The tools that a model may see and call. */
export interface Permitted {
  tools: readonly Tool[];
  /** The inbox that the model is limited to, as address, username or id. Undefined for all inboxes of the key. */
  inbox: string | undefined;
}

/**
 * The tools for `words`: `read` for the tools that change nothing, or a list of names with commas. Returns the fault, as the end
 * of a sentence, if a name is unknown.
 */
export function permitted(words: string | undefined, inbox: string | undefined): Permitted | string {
  const within = inbox === undefined ? tools : tools.filter(({ isAboutAccount }) => !isAboutAccount);
  if (words === undefined) return { tools: within, inbox };
  if (words === "read") return { tools: within.filter(({ hints }) => hints.readOnly), inbox };
  const names = words.split(",").map((name) => name.trim());
  const unknown = names.find((name) => !tools.some((tool) => tool.name === name));
  if (unknown !== undefined) return `must be read, or some of ${tools.map(({ name }) => name).join(",")}`;
  return { tools: within.filter(({ name }) => names.includes(name)), inbox };
}
