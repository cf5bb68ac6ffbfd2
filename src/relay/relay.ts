import { describeOutbound, type SmtpOutbound } from "../domain/outbound.ts";
import type { RelayOutcome } from "../domain/outcome.ts";
import { relayPool } from "./relay-pool.ts";
import type { RelayedMail } from "./relayed-mail.ts";
import { minBytesPerMs, openSession, type SmtpTimings, smtpTimings } from "./smtp-session.ts";

/** A way out for mail. What a network can do to `send` is an outcome. */
export interface Relay {
  /**
   * Answers the outcome for each recipient, in the mail's order. Rejects with HostBusy if nothing was tried, because the mail host
   * already has all the connections that it gets.
   */
  send(mail: RelayedMail, signal?: AbortSignal): Promise<RelayOutcome[]>;
  /** Lets the mails in hand end, then hangs up. */
  close(): Promise<void>;
  /** One line for the operator, without secrets. */
  describe(): string;
  /** Throws HostBusy where `send` most likely would, as the last mail for that domain shows. */
  checkRoom?(to: string, accountId: string): void;
  /** Whom a mail to this address burdens: mails with the same destination share a cap. */
  destinationOf(to: string): string;
}

/** A mail was not tried: its mail host has all connections that it gets. */
export class HostBusy extends Error {
  /** When to try again. */
  readonly againInMs: number;

  constructor(againInMs: number) {
    super("Cannot relay yet: all connections to the mail host are in use");
    this.name = "HostBusy";
    this.againInMs = againInMs;
  }
}

/** Longer than an honest server takes beside the content, and as long as we hold a place for one that isn't. */
const longestAttemptMs = 5 * 60_000;

/**
 * Lets no attempt last longer, whatever it waits for: a name server, a connection, a reply that drips. What hangs is ended then,
 * and the mail is tried again.
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
  /** PEM, trusted in place of the system's certificate authorities. */
  ca?: string;
  timings?: Partial<SmtpTimings>;
  maxConnections?: number;
  maxMailsPerConnection?: number;
  idleMs?: number;
  waitMs?: number;
}

/** All mail goes to one server, which carries it on (`OUTBOUND=smtp://…`). */
export function smtpRelay(outbound: SmtpOutbound, options: SmtpRelayOptions): Relay {
  const { host, port, tls, login } = outbound;
  const target = {
    host,
    address: host,
    port,
    tls,
    login,
    ca: options.ca,
    hostname: options.hostname,
    timings: { ...smtpTimings, ...options.timings },
  };
  const pool = relayPool({
    open: (signal) => openSession(target, signal),
    maxConnections: options.maxConnections ?? 10,
    maxMailsPerConnection: options.maxMailsPerConnection ?? 100,
    idleMs: options.idleMs ?? 10_000,
    waitMs: options.waitMs ?? 60_000,
  });
  const destination = `${host}:${port}`;
  return {
    send: pool.send,
    close: pool.close,
    describe: () => describeOutbound(outbound),
    destinationOf: () => destination,
  };
}
