import type { Socket } from "bun";
import type { Chance } from "../../tests/support/chance.ts";
import {
  type Acceptance,
  checkMail,
  closureAt,
  digestOf,
  isGone,
  type Ledger,
  type LedgerDomain,
  type LedgerReport,
} from "./ledger.ts";

/** A relay that accepts, refuses, delays, hangs up at every point, and records its answers. */
export interface TortureRelay {
  port: number;
  /** `good` from the next command on: waiting mail can go out. */
  behave(mood: Mood): void;
  connections(): number;
  stop(): void;
}

/** It replaces the Message-ID by one at this domain. */
export const wireDomain = "wire.example";

export type Mood = "moody" | "good" | "busy" | "gone" | "silent";

/** A reply, or a failure. */
type Move = string;

interface Session {
  pending: string;
  content: string[] | undefined;
  /** The envelope's sender, and when it came. By then the service has looked whether the mail may go. */
  returnPath: string;
  fromMs: number;
  /** The tokens of the accepted recipients. */
  tokens: string[];
  /** Their addresses. */
  addresses: string[];
  isOpen: boolean;
}

export function startRelay(ledger: Ledger, chance: Chance): TortureRelay {
  let mood: Mood = "moody";
  let queued = 0;
  const sockets = new Set<Socket<Session>>();

  const server = Bun.listen<Session>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open(socket) {
        socket.data = {
          pending: "",
          content: undefined,
          returnPath: "",
          fromMs: 0,
          tokens: [],
          addresses: [],
          isOpen: true,
        };
        sockets.add(socket);
        make(socket, greeting());
      },
      data(socket, chunk) {
        const lines = (socket.data.pending + chunk.toString("latin1")).split("\r\n");
        socket.data.pending = lines.pop() ?? "";
        for (const line of lines) take(socket, line);
      },
      close(socket) {
        socket.data.isOpen = false;
        sockets.delete(socket);
      },
      error: () => undefined,
    },
  });

  function take(socket: Socket<Session>, line: string): void {
    const { data } = socket;
    if (data.content === undefined) make(socket, answerTo(data, line));
    else if (line !== ".") data.content.push(line.startsWith(".") ? line.slice(1) : line);
    else {
      const raw = Buffer.from(data.content.map((each) => `${each}\r\n`).join(""), "latin1");
      data.content = undefined;
      conclude(socket, raw);
    }
  }

  function greeting(): Move {
    if (mood === "gone") return "hang up";
    if (mood === "silent") return "silence";
    return mood === "busy" && chance.is(0.3) ? "421 4.3.2 Busy" : "220 relay.example ESMTP";
  }

  function answerTo(session: Session, line: string): Move {
    if (mood === "gone") return "hang up";
    if (mood === "silent") return "silence";
    const verb = line.slice(0, 4).toUpperCase();
    if (verb === "QUIT") return "221 2.0.0 Bye";
    const token = verb === "RCPT" ? (/<([^@>]*)/.exec(line)?.[1] ?? "") : undefined;
    if (token !== undefined) noteOffer(token, session.fromMs);
    if (token !== undefined && isRefused(token)) {
      ledger.refusals.add(token);
      return "550 5.1.1 No such user";
    }
    if (token !== undefined && isMoody(greylistedShare(token))) return "450 4.2.1 Greylisted";
    if (isMoody(0.01)) return "hang up";
    if (isMoody(0.01)) return "421 4.3.2 Going away";
    if (verb === "MAIL" || verb === "RSET") Object.assign(session, { tokens: [], addresses: [] });
    if (verb === "MAIL") Object.assign(session, { returnPath: /<([^>]*)>/.exec(line)?.[1] ?? "", fromMs: Date.now() });
    if (token !== undefined) {
      session.tokens.push(token);
      session.addresses.push(/<([^>]*)>/.exec(line)?.[1] ?? "");
    }
    if (verb !== "DATA") return "250 2.0.0 Ok";
    if (session.tokens.length === 0) return "503 5.5.1 Nobody to give it to";
    session.content = [];
    return "354 Go on";
  }

  /** Most mail of an account that is suspended now and then waits for another attempt, and all of it once it is suspended. */
  function greylistedShare(token: string): number {
    const account = ledger.copies.get(token)?.inbox.account;
    if (account?.isSuspendable !== true) return 0.04;
    return ledger.closures.some((each) => each.account === account && each.liftAskedMs > Date.now()) ? 1 : 0.7;
  }

  /** Each recipient has one mail; a repeated recipient after a 250 has the same one. A suspended account sends none. */
  function noteOffer(token: string, atMs: number): void {
    const account = ledger.copies.get(token)?.inbox.account;
    const closure = account && closureAt(ledger, account, atMs);
    const domain = domainOf(token);
    if (domain !== undefined && isGone(domain, atMs, atMs))
      ledger.violation("P1.4", `${token} was offered to the relay while ${domain.name} had failed`);
    if (closure !== undefined)
      ledger.violation("P2.4", `${token} was offered to the relay while ${account?.name} was suspended`);
    const taken = ledger.acceptances.get(token)?.find(({ answered }) => answered);
    if (taken !== undefined) ledger.offersAgain.push({ token, takenMs: taken.atMs });
  }

  /** The final dot decides who has the mail, and its answer may be lost. */
  function conclude(socket: Socket<Session>, raw: Buffer): void {
    const { tokens, addresses, returnPath } = socket.data;
    if (mood === "gone" || isMoody(0.03)) make(socket, "hang up");
    else if (mood === "busy" || isMoody(0.05)) make(socket, "451 4.3.0 Not now");
    else {
      const isWithheld = mood === "silent" || isMoody(0.04);
      const acceptances = tokens.map((token) => accept(token, raw));
      for (const [place, token] of tokens.entries())
        ledger.reports.push(...reportsOf(token, addresses[place] ?? "", returnPath));
      const finish = () => {
        const answered = !isWithheld && socket.data.isOpen;
        for (const acceptance of acceptances) Object.assign(acceptance, { answered, atMs: Date.now() });
        ledger.count(answered ? "relay: accepted" : "relay: accepted, reply withheld");
        if (tokens.length > 1) ledger.count("relay: accepted for several");
        queued += 1;
        make(socket, answered ? `250 2.0.0 Ok: queued as ${tokens[0]}q${queued}` : "hang up");
      };
      if (isMoody(0.2)) setTimeout(finish, chance.whole(1, 1500));
      else finish();
    }
  }

  /** The own domain that a mail comes from. */
  function domainOf(token: string): LedgerDomain | undefined {
    const inbox = ledger.copies.get(token)?.inbox;
    return inbox && ledger.domains.find(({ before }) => before === inbox);
  }

  /** In order of arrival; by the time of a late answer the mail may have come again. */
  function accept(token: string, raw: Buffer): Acceptance {
    const send = ledger.copies.get(token);
    if (send !== undefined) checkMail(ledger, send, raw.toString("latin1"));
    const domain = domainOf(token);
    const signer = /^DKIM-Signature:(?:\r\n[ \t]|.)*?\bd=([^;\s]+)/im.exec(raw.toString("latin1"))?.[1];
    if (signer !== domain?.name)
      ledger.violation("P1.5", `the mail of ${token} is signed by ${signer}, not by ${domain?.name}`);
    const messageId = /^Message-ID:\s*<([^>]*)>/im.exec(raw.toString("latin1"))?.[1] ?? "";
    const known = ledger.acceptances.get(token) ?? [];
    const acceptance = { messageId, digest: digestOf(raw), atMs: Date.now(), answered: false };
    ledger.acceptances.set(token, [...known, acceptance]);
    return acceptance;
  }

  function isMoody(probability: number): boolean {
    return mood === "moody" && chance.is(probability);
  }

  function make(socket: Socket<Session>, move: Move): void {
    if (move === "silence") return;
    if (move !== "hang up") socket.write(`${move}\r\n`);
    if (!/^[23]/.test(move)) ledger.count(`relay: ${move === "hang up" ? move : move.slice(0, 3)}`);
    if (/^(hang up|421|221)/.test(move)) end(socket);
  }

  /** Later writes reach nobody. */
  function end(socket: Socket<Session>): void {
    socket.data.isOpen = false;
    socket.end();
  }

  return {
    port: server.port,
    behave(next) {
      mood = next;
      if (mood === "good") for (const socket of sockets) end(socket);
    },
    connections: () => sockets.size,
    stop: () => server.stop(true),
  };
}

/** Some recipients never exist. */
export function isRefused(token: string): boolean {
  return token.endsWith("9x");
}

/** Some accepted recipients bounce later, or are delivered, or both in turn; each is always the same. */
function reportsOf(token: string, address: string, returnPath: string): LedgerReport[] {
  const kinds = fates[Number(token.at(-2))] ?? [];
  const news = { token, address, returnPath, isTaken: false, acknowledged: false, open: false };
  return kinds.map((kind) => ({ ...news, kind }));
}

/** By the last digit of the token. */
const fates: Readonly<Record<number, readonly LedgerReport["kind"][]>> = {
  0: ["bounced"],
  1: ["delayed", "delivered"],
  2: ["delivered", "bounced"],
  5: ["delayed", "bounced"],
};
