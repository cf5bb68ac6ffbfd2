import type { Known } from "./known.ts";

/** Gets JSON from the API, with the key. */
export type Ask = (path: string) => Promise<{ status: number; body: unknown }>;

/** Requests the missing values of a form from the API. Returns the name of one that is still missing, or undefined. */
export async function lookUp(wanted: readonly string[], known: Known, ask: Ask): Promise<string | undefined> {
  const missing = () => wanted.find((name) => name in remedies && known.meant(name) === undefined);
  for (const step of steps) {
    if (missing() === undefined) return undefined;
    if (!wanted.some((name) => step.finds.includes(name) && known.meant(name) === undefined)) continue;
    const path = step.path(known.meant("inbox") ?? "");
    if (path !== undefined) known.learn((await ask(path)).body);
  }
  return missing();
}

const ofInbox = ["inbox", "address", "message", "thread", "correspondent", "attachmentMessage", "attachmentName"];
const ofMail = ["message", "thread", "correspondent"];

const steps: readonly { finds: readonly string[]; path: (inbox: string) => string | undefined }[] = [
  { finds: ofInbox, path: (inbox) => (inbox === "" ? "v1/inboxes?limit=1" : undefined) },
  // If the inbox is known only from a mail, its address may be missing.
  { finds: ["address"], path: (inbox) => (inbox === "" ? undefined : `v1/inboxes/${inbox}`) },
  { finds: ofMail, path: listed("limit=1&direction=inbound") },
  { finds: ["message", "thread"], path: listed("limit=1") },
  { finds: ["attachmentMessage", "attachmentName"], path: listed("limit=1&has_attachment=true") },
  { finds: ["event"], path: () => "v1/events?limit=1" },
];

function listed(query: string) {
  return (inbox: string) => (inbox === "" ? undefined : `v1/inboxes/${inbox}/messages?${query}`);
}

/** How to get a missing value: a sentence, and a link to the operation that helps. */
export const remedies: Readonly<Record<string, readonly [sentence: string, link: string, label: string]>> = {
  inbox: ["There is no inbox yet.", "#createInbox", "Create one first"],
  address: ["There is no inbox yet.", "#createInbox", "Create one first"],
  message: ["There is no mail yet.", "#sendEmail", "Send one first"],
  thread: ["There is no mail yet.", "#sendEmail", "Send one first"],
  correspondent: ["No mail has come in yet.", "#sendEmail", "Send one to this inbox first"],
  event: ["There is no event yet: mail that arrives makes one.", "#sendEmail", "Send one first"],
  attachmentMessage: ["No mail here has an attachment.", "#receiving", "How mail comes in"],
  attachmentName: ["No mail here has an attachment.", "#receiving", "How mail comes in"],
};
