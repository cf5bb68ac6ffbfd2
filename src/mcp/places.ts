import { type Api, ToolFailure } from "./api.ts";
import type { Context } from "./tool.ts";
import type { Inbox, Message, Page, ThreadMessages } from "./wire.ts";

/** Where a tool works: which inbox is meant, whether the fence lets the model there, and what a thread has. */

/** The id of the inbox that is meant. In a fence it may be left out, and any other is not found. */
export async function inboxId({ api, fence }: Context, named: string | undefined): Promise<string> {
  const wanted = await idOf(api, named ?? fence ?? "");
  if (fence === undefined || named === undefined) return wanted;
  if (wanted !== (await idOf(api, fence))) throw notFound("inbox");
  return wanted;
}

/** Throws where the fence does not reach: what is in another inbox is not found. */
export async function checkFence(context: Context, found: string, what: "thread" | "message"): Promise<void> {
  const { api, fence } = context;
  if (fence !== undefined && (await idOf(api, fence)) !== found) throw notFound(what);
}

async function idOf(api: Api, named: string): Promise<string> {
  if (/^inb_[0-9a-z]{26}$/.test(named)) return named;
  const { body } = await api.ask<Page<Inbox>>("GET", "/v1/inboxes", { query: { address: named, limit: 1 } });
  const [found] = body.data;
  if (found === undefined) throw notFound("inbox");
  return found.id;
}

export async function messageOf(context: Context, id: string): Promise<Message> {
  const { body } = await context.api.ask<Message>("GET", `/v1/messages/${encodeURIComponent(id)}`);
  await checkFence(context, body.inboxId, "message");
  return body;
}

/** A thread with its newest messages, oldest first; a page of long mails ends early, so it may take more than one. */
export async function newestOfThread(
  context: Context,
  id: string,
  wanted: number,
  include?: "extracted",
): Promise<ThreadMessages> {
  const path = `/v1/threads/${encodeURIComponent(id)}/messages`;
  const page = async (offset: number, limit: number) =>
    (await context.api.ask<ThreadMessages>("GET", path, { query: { offset, limit, include } })).body;

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

export function notFound(what: "inbox" | "thread" | "message" | "attachment"): ToolFailure {
  return new ToolFailure("not_found", `Cannot find ${what}: no such ${what}`);
}
