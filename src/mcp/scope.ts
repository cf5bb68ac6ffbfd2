import type { Schemas } from "../../sdk/typescript/src/inboxd.ts";
import { shortNames } from "./marks.ts";
import { type Context, ToolFailure } from "./tool.ts";

/** Finds the inbox, message or thread that a tool works on. A model that is limited to one inbox finds nothing outside it. */

/** The id of an inbox by address, username or id. A model that is limited to one inbox may leave out `name`, and finds no other inbox. */
export async function inboxId(context: Context, name: string | undefined): Promise<string> {
  const { fence } = context;
  const wanted = await idOf(context, name ?? fence ?? "");
  if (fence === undefined || name === undefined) return wanted;
  if (wanted !== (await idOf(context, fence))) throw notFound("inbox");
  return wanted;
}

/** Throws if the model is limited to one inbox, and the thread or message was found in another. */
export async function checkFence(context: Context, foundIn: string, what: "thread" | "message"): Promise<void> {
  const { fence } = context;
  if (fence !== undefined && (await idOf(context, fence)) !== foundIn) throw notFound(what);
}

async function idOf({ api }: Context, name: string): Promise<string> {
  if (/^inb_[0-9a-z]{26}$/.test(name)) return name;
  const inbox = await api.inboxes.find(name);
  if (inbox === undefined) throw notFound("inbox");
  return inbox.id;
}

export async function messageOf(context: Context, id: string): Promise<Schemas["Message"]> {
  const message = await context.api.messages.get(pathId("message", id));
  await checkFence(context, message.inboxId, "message");
  return message;
}

/** A file of a message. The model may give its shortened name, because the tools show it that one. */
export async function fileOf(context: Context, id: string, filename: string) {
  const { attachments } = await messageOf(context, id);
  const names = shortNames(attachments.map((each) => each.filename));
  const index = attachments.findIndex((each) => each.filename === filename);
  const number = index < 0 ? names.indexOf(filename) : index;
  const attachment = attachments[number];
  if (attachment === undefined) throw notFound("attachment");
  return { attachment, shownName: names[number] ?? "" };
}

type ThreadMessages = Schemas["ThreadMessages"];

/**
 * A thread with its `wanted` newest messages, oldest first. A page of long mails ends early, so this may fetch several
 * pages.
 */
export async function newestOfThread(
  context: Context,
  threadId: string,
  wanted: number,
  include?: "extracted",
): Promise<ThreadMessages> {
  const id = pathId("thread", threadId);
  const page = (offset: number, limit: number) => context.api.threads.messages(id, { offset, limit, include }).page();

  let thread = await page(0, wanted);
  const [first] = thread.data;
  if (first !== undefined) await checkFence(context, first.inboxId, "thread");
  const from = Math.max(0, thread.total - wanted);
  if (from > 0) thread = await page(from, wanted);
  while (from + thread.data.length < thread.total && thread.data.length < wanted) {
    const more = await page(from + thread.data.length, wanted - thread.data.length);
    if (more.data.length === 0) break;
    thread = { ...thread, data: [...thread.data, ...more.data] };
  }
  return thread;
}

/** Returns an id that is used in a path. Refuses `.`, `..` and an empty id, which would make another path. */
export function pathId(what: "thread" | "message", id: string): string {
  if (/^\.{0,2}$/.test(id)) throw notFound(what);
  return id;
}

export function notFound(what: "inbox" | "thread" | "message" | "attachment"): ToolFailure {
  return new ToolFailure("not_found", `Cannot find ${what}: no such ${what}`);
}
