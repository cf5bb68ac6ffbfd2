/** The reach of a key or of a grant, in words. */
export function reachOf({ inboxId, externalId }: { inboxId: string | null; externalId: string | null }): string {
  return inboxId ?? (externalId === null ? "the whole account" : `tenant ${externalId}`);
}
