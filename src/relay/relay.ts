import { describeOutbound, type SmtpOutbound } from "../domain/outbound.ts";
import type { RelayOutcome } from "../domain/outcome.ts";
import { relayPool } from "./relay-pool.ts";
import type { RelayedMail } from "./relayed-mail.ts";
import { minBytesPerMs, openSession, relayTarget, type SmtpTimings } from "./smtp-session.ts";

/** Sends mail out. A network failure is an outcome, not an exception. */
export interface Relay {
  /**
   * Resolves with the outcome for each recipient, in the mail's order. Rejects with HostBusy if nothing was tried because
   * all connections to the mail host are in use.
   */
  send(mail: RelayedMail, signal?: AbortSignal): Promise<RelayOutcome[]>;
  /** Waits for the mails in progress, then disconnects. */
  close(): Promise<void>;
  /** One line for the operator, without secrets. */
  describe(): string;
  /** Throws HostBusy if `send` would probably throw it. Judged by the last mail for the domain of `to`. */
  checkRoom?(to: string, accountId: string): void;
  /**
   * Names the server for mail to this address. Mails for which this returns the same name share the slots of one server.
   */
  serverOf(to: string): string;
  /** The most mails in progress at one server, those that wait for a connection included. Undefined: that of the outbox. */
  mostAtOnce?: number;
}

/** The mail was not tried, because all connections to the mail host are in use. */
export class HostBusy extends Error {
  /** The delay before the next try. */
  readonly againInMs: number;

  constructor(againInMs: number) {
    super("Cannot relay yet: all connections to the mail host are in use");
    this.name = "HostBusy";
    this.againInMs = againInMs;
  }
}

/**
 * The time limit of an attempt, without the time for its content. An honest server needs less, and a hostile one uses a
 * slot for no longer.
 */
const longestAttemptMs = 5 * 60_000;

/**
 * Limits the time of each whole attempt of a relay, whatever it waits for: a name server, a connection, a reply that comes
 * octet by octet. An attempt that reaches the limit is ended and retried later.
 */
export function withinTime(relay: Relay, attemptMs = longestAttemptMs): Relay {
  async function send(mail: RelayedMail, signal?: AbortSignal): Promise<RelayOutcome[]> {
    const limitMs = attemptMs + Math.floor(mail.body.sizeBytes / minBytesPerMs / 1000) * 1000;
    const ending = new AbortController();
    const end = () => ending.abort();
    let isLate = false;
    const limit = setTimeout(() => {
      isLate = true;
      end();
    }, limitMs);
    signal?.addEventListener("abort", end, { once: true });
    if (signal?.aborted) end();
    try {
      const outcomes = await relay.send(mail, ending.signal);
      if (!isLate) return outcomes;
      const message = `Cannot relay: the attempt took longer than ${limitMs / 1000} s`;
      return outcomes.map((outcome) =>
        outcome.kind === "retry" && outcome.failure.code === null
          ? { ...outcome, failure: { ...outcome.failure, message } }
          : outcome,
      );
    } finally {
      clearTimeout(limit);
      signal?.removeEventListener("abort", end);
    }
  }
  return { ...relay, send };
}

export interface SmtpRelayOptions {
  /** Our name for EHLO. */
  hostname: string;
  /** PEM, trusted instead of the system's certificate authorities. */
  ca?: string;
  timings?: Partial<SmtpTimings>;
  maxConnections?: number;
  maxMailsPerConnection?: number;
  idleMs?: number;
  waitMs?: number;
}

/** Sends all mail to one server, which relays it (`OUTBOUND=smtp://…`). */
export function smtpRelay(outbound: SmtpOutbound, options: SmtpRelayOptions): Relay {
  const target = relayTarget(outbound, options);
  const { maxConnections = 10 } = options;
  const pool = relayPool({
    open: (signal) => openSession(target, signal),
    maxConnections,
    maxMailsPerConnection: options.maxMailsPerConnection ?? 100,
    idleMs: options.idleMs ?? 10_000,
    waitMs: options.waitMs ?? waitMs,
  });
  const destination = `${outbound.host}:${outbound.port}`;
  return {
    send: pool.send,
    close: pool.close,
    describe: () => describeOutbound(outbound),
    serverOf: () => destination,
    mostAtOnce: mailsPerConnection * maxConnections,
  };
}

/** One mail of each connection is sent while the others wait for it, so that many are claimed and recorded by one statement. */
const mailsPerConnection = 4;
/** A minute for each mail before it on its connection. */
const waitMs = (mailsPerConnection - 1) * 60_000;
