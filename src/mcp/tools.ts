import { readAttachment } from "./attachment-tool.ts";
import { createInbox, listInboxes } from "./inbox-tools.ts";
import { readMessage, searchMessages, waitForMessage } from "./message-tools.ts";
import { replyToThread, sendEmail } from "./send-tools.ts";
import { listThreads, markThread, readThread } from "./thread-tools.ts";
import type { Tool } from "./tool.ts";

/** All there are, in the order in which they are listed. */
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
  markThread,
];

/** What a model may see and call. */
export interface Narrowed {
  tools: readonly Tool[];
  /** The one inbox that it may work in, as it was named. */
  inbox: string | undefined;
}

/**
 * `words` is `read`, for the tools that change nothing, or a comma list of names. Answers what is wrong with it, as the end of a
 * sentence, where it names what there is not.
 */
export function narrowed(words: string | undefined, inbox: string | undefined): Narrowed | string {
  const within = inbox === undefined ? tools : tools.filter(({ isAboutAccount }) => !isAboutAccount);
  if (words === undefined) return { tools: within, inbox };
  if (words === "read") return { tools: within.filter(({ hints }) => hints.readOnly), inbox };
  const names = words.split(",").map((name) => name.trim());
  const unknown = names.find((name) => !tools.some((tool) => tool.name === name));
  if (unknown !== undefined) return `must be read, or some of ${tools.map(({ name }) => name).join(",")}`;
  return { tools: within.filter(({ name }) => names.includes(name)), inbox };
}
