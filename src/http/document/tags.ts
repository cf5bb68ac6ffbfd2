/** The groups of operations, in the order in which somebody new to the service meets them. */
export const tags = [
  { name: "Inboxes", description: "Real email addresses, made and removed by you" },
  { name: "Sending", description: "New mail and replies, each sent once however often it is asked" },
  { name: "Messages", description: "All mail of an inbox, by page or by search" },
  { name: "Threads", description: "Conversations, and what is to be done in them" },
  { name: "Attachments", description: "Files of messages, by addresses that need no key" },
  { name: "Webhooks", description: "Where your events go, and the secret that signs them" },
  { name: "Events", description: "What has happened: the log, its deliveries, and what your webhook is sent" },
  { name: "Outbox", description: "What is still to be sent and delivered, and taking it back" },
  { name: "Suppressions", description: "Addresses that nothing is sent to, and why" },
  { name: "Account", description: "What your key opens, with its limits" },
  { name: "Tokens", description: "Short-lived children of your key, for browsers and for one task" },
  { name: "Relay", description: "For the operator's relay: what became of the mail that it took" },
  { name: "Health", description: "Whether the service works, and what it says of itself" },
] as const;

/** Where a group stands in the document. What is in no group comes last. */
export function placeOfTag(name: string): number {
  const place = tags.findIndex((tag) => tag.name === name);
  return place === -1 ? tags.length : place;
}
