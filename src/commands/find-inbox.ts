import type { ApiClient } from "./api-client.ts";

/** The API knows inboxes by id; people know them by address, or by what stands before its @. */
export async function inboxIdOf(api: ApiClient, inbox: string): Promise<string> {
  if (/^inb_[0-9a-z]{26}$/.test(inbox)) return inbox;
  const { data } = await api.ask<InboxPage>("GET", "/v1/inboxes", { query: { address: inbox, limit: 1 } });
  const [found] = data;
  if (found !== undefined) return found.id;
  throw new Error(`Cannot find inbox: the account has no inbox ${JSON.stringify(inbox)}`);
}

interface InboxPage {
  data: { id: string }[];
}
