import { inboxd, type Schemas, wordsOf } from "../api.ts";

/** Deletes it, and says what came of it. */
export async function deleteInbox({ id, address }: Schemas["Inbox"]): Promise<[words: string, tone: "good" | "bad"]> {
  try {
    await inboxd.inboxes.delete(id);
    return [`${address} is deleted`, "good"];
  } catch (error) {
    return [wordsOf(error), "bad"];
  }
}
