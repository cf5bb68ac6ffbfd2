import { waitingLine } from "../primitives/waiting-line.ts";
import type { SmtpSession } from "./smtp-session.ts";
import { SmtpTrouble } from "./smtp-trouble.ts";
import { workUnderWay } from "./under-way.ts";

export interface ConnectionOptions {
  open: (signal: AbortSignal) => Promise<SmtpSession>;
  /** How many connections at once. */
  maxConnections: number;
  /** After so many mails a connection is closed: relays refuse those that stay for ever. */
  maxMailsPerConnection: number;
  /** After so long without a mail too: below the five minutes that a server must wait (RFC 5321 §4.5.3.2.7). */
  idleMs: number;
  /** How long a mail may wait for a connection. */
  waitMs: number;
}

/** The connections to one relay, each with one mail or at rest. */
export interface RelayConnections {
  /** One for a mail. Rejects with SmtpTrouble where there is none to be had. */
  acquire(signal: AbortSignal | undefined): Promise<SmtpSession>;
  /** To be said of each that was acquired, whatever became of the mail. */
  release(session: SmtpSession): void;
  /** Gives out nothing more, lets the mails in hand end, says QUIT everywhere. */
  close(): Promise<void>;
}

export function relayConnections(options: ConnectionOptions): RelayConnections {
  const line = waitingLine<SmtpSession>({
    waitMs: options.waitMs,
    late: () => notNow("all connections to the relay are busy"),
    calledOff: () => notNow("it was called off"),
  });
  const resting = restingSessions(options.idleMs, dismiss);
  const mailsOf = new Map<SmtpSession, number>();
  /** Connections that are not quite gone, those that are saying QUIT included. */
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

  /** Gives the waiting what rests, and opens what is missing. */
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
   * The relay is down: all who wait hear it now rather than one by one after a time-out each. Unless other connections
   * still work: then it merely wants no more of them, and the waiting are served by those.
   */
  function failWaiting(error: unknown): void {
    openNoMoreUntilMs = performance.now() + options.idleMs;
    if (mailsOf.size === 0) line.sendAllAway(error);
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
    resting.add(session);
    if (closing.signal.aborted) dismiss(session);
    else serve();
  }

  /** Counts no more from here on: its place is free although its QUIT is still on the way. */
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
    line.sendAllAway(shuttingDown());
    for (const session of resting.sessions()) dismiss(session);
    await endings.ended();
  }

  return { acquire, release, close };
}

/** Connections that have no mail; `tooLong` is told of each that has had none for `idleMs`. */
function restingSessions(idleMs: number, tooLong: (session: SmtpSession) => void) {
  const resting: { session: SmtpSession; timer: Timer }[] = [];
  return {
    add(session: SmtpSession): void {
      resting.push({ session, timer: setTimeout(tooLong, idleMs, session) });
    },
    /** The one that was busy last: the others may rest too long and close. */
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
