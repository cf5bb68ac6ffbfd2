import { inboxd, type Schemas } from "../api.ts";

/** What a mail is written for: a new one, an answer to a message, or one that hands a message on. */
export interface Purpose {
  inboxes: readonly Schemas["Inbox"][];
  inboxId: string | undefined;
  answered: Schemas["Message"] | undefined;
  toAll: boolean;
  forwarded: Schemas["Message"] | undefined;
}

export async function purposeOf(query: URLSearchParams): Promise<Purpose> {
  const messageNamed = async (id: string | null) => (id === null ? undefined : inboxd.messages.get(id));
  const [inboxes, answered, forwarded] = await Promise.all([
    inboxd.inboxes.list({ limit: 100 }).page(),
    messageNamed(query.get("message")),
    messageNamed(query.get("forward")),
  ]);
  const inboxId = answered?.inboxId ?? query.get("inbox") ?? forwarded?.inboxId ?? inboxes.data[0]?.id;
  const isListed = inboxId === undefined || inboxes.data.some(({ id }) => id === inboxId);
  return {
    inboxes: isListed ? inboxes.data : [await inboxd.inboxes.get(inboxId), ...inboxes.data],
    ...{ inboxId, answered, forwarded, toAll: query.get("all") !== null },
  };
}
