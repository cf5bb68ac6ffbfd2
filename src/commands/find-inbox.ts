import type { ApiClient } from "./api-client.ts";

/** The API knows inboxes by id; people know them by address, or by what stands before its @. */
export async function inboxIdOf(api: ApiClient, inbox: string): Promise<string> {
  if (/^inb_[0-9a-z]{26}$/.test(inbox)) return inbox;
  const wanted = inbox.toLowerCase();
  const limit = 100;
  for (let offset = 0; ; offset += limit) {
    const { data, total } = await api.ask<InboxPage>("GET", "/v1/inboxes", { query: { limit, offset } });
    const found = data.find(({ address }) => address === wanted || address.split("@", 1)[0] === wanted);
    if (found !== undefined) return found.id;
    if (offset + data.length >= total || data.length === 0) break;
  }
  throw new Error(`Cannot find inbox: the account has no inbox ${JSON.stringify(inbox)}`);
}

interface InboxPage {
  data: { id: string; address: string }[];
  total: number;
}
