/** The limits of the listener. Tests set shorter durations. */
export interface SmtpLimits {
  maxConnections: number;
  /** For one IPv4 address or one IPv6 /64. An IPv6 /48 has four times as many. */
  maxConnectionsPerAddress: number;
  /** Addresses of load balancers. Many clients connect through one, so only the limits for all addresses together apply to it. */
  uncountedAddresses: readonly string[];
  maxCommandOctets: number;
  maxRecipients: number;
  /** After this many refused recipients, the session is ended. */
  maxRefusedRecipients: number;
  /** A mail with more Received headers is taken for a loop (RFC 5321 §6.3). */
  maxReceivedHeaders: number;
  /**
   * A mail that is too large is read to its end, then refused with 552. If it exceeds the largest size by more than this, it is refused at
   * once and the connection is closed.
   */
  overrunBytes: number;
  /** Bytes of all mails in memory, from the first octet until the mail is stored. */
  memoryBytes: number;
  /** A mail up to this size does not wait for larger ones. `memoryBytes` is also the limit of all such small mails together. */
  memoryFreeBytes: number;
  /**
   * A mail that has waited for this time gets the memory of mails that are late by at least the same time, measured by
   * `memoryBytesPerSecond`.
   */
  memoryTurnMs: number;
  memoryBytesPerSecond: number;
  /** A mail that waits longer for memory is read to its end without being kept, and answered with 452. */
  memoryWaitMs: number;
  firstCommandMs: number;
  idleMs: number;
  /** From MAIL to the final dot. */
  transactionMs: number;
  /** The time at the start of DATA in which `minBytesPerSecond` does not apply. */
  dataGraceMs: number;
  /** The minimum rate in each window of `rateWindowMs`. */
  minBytesPerSecond: number;
  rateWindowMs: number;
  /** The time that the door may take for a recipient, and to store a mail. */
  recipientMs: number;
  acceptMs: number;
  /** The interval at which one timer checks the deadlines of all sessions. */
  sweepMs: number;
}

export function defaultLimits(maxBytes: number): SmtpLimits {
  return {
    maxConnections: 10_000,
    maxConnectionsPerAddress: 50,
    uncountedAddresses: [],
    maxCommandOctets: 2048,
    maxRecipients: 100,
    maxRefusedRecipients: 10,
    maxReceivedHeaders: 100,
    overrunBytes: Math.max(maxBytes, 1 << 20),
    memoryBytes: 64 << 20,
    memoryFreeBytes: 64 << 10,
    memoryTurnMs: 10_000,
    // Less than 1 Mbit/s, so a sender with such a line is never late.
    memoryBytesPerSecond: 100_000,
    memoryWaitMs: 60_000,
    firstCommandMs: 60_000,
    // RFC 5321 §4.5.3.2.7: a server waits at least five minutes for the next command.
    idleMs: 300_000,
    transactionMs: 600_000,
    dataGraceMs: 30_000,
    minBytesPerSecond: 500,
    rateWindowMs: 60_000,
    recipientMs: 15_000,
    acceptMs: 60_000,
    sweepMs: 1_000,
  };
}
