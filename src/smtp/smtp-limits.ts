/** The bounds of the listener. Durations can be set, so that tests need not wait. */
export interface SmtpLimits {
  maxConnections: number;
  /** Of one IPv4 address or one IPv6 /64; an IPv6 /48 has four times as many. */
  maxConnectionsPerAddress: number;
  /** Addresses of balancers: behind them are many senders, so they are counted, and share the memory, in all and not by address. */
  uncountedAddresses: readonly string[];
  maxCommandOctets: number;
  maxRecipients: number;
  /** Refused RCPTs of one connection; the last of them ends it. */
  maxRefusedRecipients: number;
  /** Over so many Received headers a mail is taken to run in a circle (RFC 5321 §6.3). */
  maxReceivedHeaders: number;
  /** How far past the largest size a mail is read, to answer it with 552, before its connection is cut. */
  overrunBytes: number;
  /** Bytes of all mails in memory, from their first octet until they are stored. */
  memoryBytes: number;
  /** A mail up to this size never waits for larger ones; all of its kind have `memoryBytes` to themselves. */
  memoryFreeBytes: number;
  /** Whoever has waited so long for memory gets that of mails that are so far behind `memoryBytesPerSecond`. */
  memoryTurnMs: number;
  memoryBytesPerSecond: number;
  /** How long a mail may wait for memory before it is read to its end and answered with 452. */
  memoryWaitMs: number;
  firstCommandMs: number;
  idleMs: number;
  /** From MAIL to the final dot. */
  transactionMs: number;
  /** DATA isn't measured against the least rate before this has passed. */
  dataGraceMs: number;
  /** Each window of `rateWindowMs` has to bring so many bytes a second. */
  minBytesPerSecond: number;
  rateWindowMs: number;
  /** How long the door may take to decide on a recipient, and to store a mail. */
  recipientMs: number;
  acceptMs: number;
  /** How often all sessions are held against their deadlines: one timer for all of them. */
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
    // A line of 1 Mbit/s keeps up with it.
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
