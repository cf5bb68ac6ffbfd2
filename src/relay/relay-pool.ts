import type { RelayOutcome } from "../domain/outcome.ts";
import { waitingLine } from "../primitives/waiting-line.ts";
import { forAll, inTransactions, type RelayedMail } from "./relayed-mail.ts";
import type { SmtpSession } from "./smtp-session.ts";
import { SmtpTrouble } from "./smtp-trouble.ts";
import { workUnderWay } from "./under-way.ts";

export interface ConnectionOptions {
  open: (signal: AbortSignal) => Promise<SmtpSession>;
  maxConnections: number;
  /** A connection is closed after this many mails, because relays limit them. */
  maxMailsPerConnection: number;
  /** An idle connection is closed after this time: less than the server's five minutes (RFC 5321 §4.5.3.2.7). */
  idleMs: number;
  /** The time limit for a mail to get a connection. */
  waitMs: number;
}

/** Sends mail over a pool of connections to one relay. Each connection sends many mails, one at a time. */
export interface RelayPool {
  /** Resolves with the outcome for each recipient. */
  send(mail: RelayedMail, signal?: AbortSignal): Promise<RelayOutcome[]>;
  /** Rejects new mail, waits for the mails in progress, and sends QUIT on each connection. */
  close(): Promise<void>;
}

export function relayPool(options: ConnectionOptions): RelayPool {
  const connections = relayConnections(options);

  async function offer(mail: RelayedMail, signal: AbortSignal | undefined): Promise<RelayOutcome[]> {
    try {
      while (true) {
        const session = await connections.acquire(signal);
        const { isUsed } = session;
        const { outcomes, unheard } = await session.send(mail, signal);
        connections.release(session);
        // An idle connection may have died. The server has not seen this mail, so it is sent over another connection.
        // If a new connection fails the same way, that is the outcome.
        if (!unheard || !isUsed) return outcomes;
      }
    } catch (error) {
      if (error instanceof SmtpTrouble) {
        const { failure, server } = error;
        return forAll(mail, { kind: "retry", failure, maybeAccepted: false, server });
      }
      throw error;
    }
  }

  return {
    send: (mail, signal) => inTransactions(mail, (some) => offer(some, signal)),
    close: connections.close,
  };
}

/** The connections to one relay, each busy with one mail or idle. */
interface RelayConnections {
  /** Waits for a connection for one mail. Rejects with SmtpTrouble if there is none in time. */
  acquire(signal: AbortSignal | undefined): Promise<SmtpSession>;
  /** Must be called for each acquired connection, whatever the outcome of the mail. */
  release(session: SmtpSession): void;
  close(): Promise<void>;
}

function relayConnections(options: ConnectionOptions): RelayConnections {
  const line = waitingLine<SmtpSession>({
    waitMs: options.waitMs,
    late: () => notNow("all connections to the relay are busy"),
    calledOff: () => notNow("the attempt was aborted"),
  });
  const resting = restingSessions(options.idleMs, dismiss);
  const mailsOf = new Map<SmtpSession, number>();
  /** Connections that are not closed yet, including those that wait for the reply to QUIT. */
  const endings = workUnderWay();
  const closing = new AbortController();
  let opening = 0;
  let openNoMoreUntilMs = 0;

  function acquire(signal: AbortSignal | undefined): Promise<SmtpSession> {
    if (closing.signal.aborted) throw shuttingDown();
    const session = line.join({ signal });
    serve();
    return session;
  }

  /** Gives idle connections to the mails that wait, and opens more if needed. */
  function serve(): void {
    while (line.length > 0) {
      const rested = resting.takeLast();
      if (rested === undefined) break;
      line.serveFirst(rested);
    }
    while (opening < line.length && mayOpen()) void endings.keep(openOne());
  }

  function mayOpen(): boolean {
    if (mailsOf.size + opening >= options.maxConnections) return false;
    return mailsOf.size === 0 || performance.now() >= openNoMoreUntilMs;
  }

  async function openOne(): Promise<void> {
    opening += 1;
    try {
      const session = await options.open(closing.signal);
      opening -= 1;
      mailsOf.set(session, 0);
      void endings.keep(session.ended.then(() => forget(session)));
      rest(session);
    } catch (error) {
      opening -= 1;
      failWaiting(error);
    }
  }

  /**
   * Called when a connection could not be opened. If no other is open, the relay is down: all mails that wait fail now
   * instead of after a time-out each. If others are open, the relay accepts no further ones, and the mails that wait use
   * these.
   */
  function failWaiting(error: unknown): void {
    openNoMoreUntilMs = performance.now() + options.idleMs;
    if (mailsOf.size === 0) line.rejectAll(error);
  }

  function release(session: SmtpSession): void {
    const mails = (mailsOf.get(session) ?? 0) + 1;
    if (session.isOpen && mails < options.maxMailsPerConnection && !closing.signal.aborted) {
      mailsOf.set(session, mails);
      rest(session);
    } else {
      dismiss(session);
    }
  }

  function rest(session: SmtpSession): void {
    if (closing.signal.aborted) dismiss(session);
    else if (line.length > 0) line.serveFirst(session);
    else resting.add(session);
    serve();
  }

  /** Closes a connection. It no longer counts towards the limit, even before the reply to QUIT. */
  function dismiss(session: SmtpSession): void {
    forget(session);
    void session.close();
  }

  function forget(session: SmtpSession): void {
    resting.remove(session);
    if (mailsOf.delete(session)) serve();
  }

  async function close(): Promise<void> {
    closing.abort();
    line.rejectAll(shuttingDown());
    for (const session of resting.sessions()) dismiss(session);
    await endings.ended();
  }

  return { acquire, release, close };
}

/** The idle connections; calls `tooLong` for each that has been idle for `idleMs`. */
function restingSessions(idleMs: number, tooLong: (session: SmtpSession) => void) {
  const resting: { session: SmtpSession; timer: Timer }[] = [];
  return {
    add(session: SmtpSession): void {
      resting.push({ session, timer: setTimeout(tooLong, idleMs, session) });
    },
    /** Takes the one that was used last, so that the others reach their idle limit and close. */
    takeLast(): SmtpSession | undefined {
      const last = resting.pop();
      clearTimeout(last?.timer);
      return last?.session;
    },
    remove(session: SmtpSession): void {
      const index = resting.findIndex((rested) => rested.session === session);
      for (const { timer } of index < 0 ? [] : resting.splice(index, 1)) clearTimeout(timer);
    },
    sessions: () => resting.map(({ session }) => session),
  };
}

function shuttingDown(): SmtpTrouble {
  return notNow("the service is shutting down");
}

function notNow(reason: string): SmtpTrouble {
  return new SmtpTrouble({ code: null, enhancedCode: null, message: `Cannot relay now: ${reason}` });
}
