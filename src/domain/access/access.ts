/**
 * What a key may do within its reach. `full`: everything. `agent`: reads, sends, marks, waits and streams. `send`: sends
 * and replies, without reading mail. `read`: reads. `ingest`: only hands in received mail.
 */
export const accesses = ["full", "agent", "send", "read", "ingest"] as const;

export type Access = (typeof accesses)[number];
