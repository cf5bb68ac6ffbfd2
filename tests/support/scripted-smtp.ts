import { type AddressInfo, createServer, type Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { testOnlyCertificate, testOnlyKey } from "./test-only-certificate.ts";

/** A step of the server. */
export type Move =
  /** Lines without their CRLF. */
  | string
  /** The same bytes, one TCP packet after the other. */
  | { packets: string[] }
  /** Never answers. */
  | "silence"
  /** Closes the connection, with FIN or with a reset. */
  | "hang up"
  | "reset"
  /** Sends these bytes without CRLF, then closes, with FIN or with a reset. */
  | { lastWords: string | { bytes: string }; isReset?: true };

export interface Script {
  greeting?: Move;
  /** The further lines of EHLO. STARTTLS is removed under TLS. */
  extensions?: string[];
  /** `handshake fails`: answers 220 to STARTTLS, then sends something that is not TLS. */
  tls?: "implicit" | "handshake fails";
  /**
   * The answer to a command line, to the final dot as ".", or undefined for the usual one. `mails` is the number of mails on
   * this connection so far.
   */
  answer?: (command: string, seen: { mails: number; connection: number; isEncrypted: boolean }) => Move | undefined;
}

export interface ReceivedMail {
  from: string;
  to: string;
  /** The bytes between DATA and the final dot, without the stuffed dots. */
  raw: Buffer;
  isEncrypted: boolean;
  connection: number;
}

export interface ScriptedSmtp {
  port: number;
  mails: ReceivedMail[];
  /** All commands in order; AUTH lines included. */
  commands: string[];
  /** The number of connections so far. */
  connections(): number;
  /** The number of open connections. */
  open(): number;
  /** Resolves when a command (or ".") with this beginning has arrived. */
  seen(commandStart: string): Promise<void>;
  /** Resolves when this number of connections is open. */
  openIs(count: number): Promise<void>;
  /** Resets every connection. */
  cut(): void;
  close(): Promise<void>;
}

/** An SMTP server on real sockets that follows a script, also into errors. */
export async function scriptedSmtp(script: Script = {}, host = "127.0.0.1", port = 0): Promise<ScriptedSmtp> {
  const mails: ReceivedMail[] = [];
  const commands: string[] = [];
  const sockets = new Set<Socket>();
  const watchers = new Set<() => void>();
  let connections = 0;
  const changed = () => {
    for (const watcher of watchers) watcher();
  };

  const server = createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on("close", () => {
      sockets.delete(socket);
      changed();
    });
    changed();
    converse(socket, script, connections, {
      command(line) {
        commands.push(line);
        changed();
      },
      mail(mail) {
        mails.push(mail);
      },
    });
  });
  await new Promise<void>((resolve) => server.listen(port, host, resolve));

  function until(isSo: () => boolean): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const watcher = () => {
      if (!isSo()) return;
      watchers.delete(watcher);
      resolve();
    };
    watchers.add(watcher);
    watcher();
    return promise;
  }

  return {
    port: (server.address() as AddressInfo).port,
    mails,
    commands,
    connections: () => connections,
    open: () => sockets.size,
    seen: (start) => until(() => commands.some((command) => command.startsWith(start))),
    openIs: (count) => until(() => sockets.size === count),
    cut() {
      for (const socket of sockets) socket.resetAndDestroy();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

interface Ledger {
  command(line: string): void;
  mail(mail: ReceivedMail): void;
}

function converse(plain: Socket, script: Script, connection: number, ledger: Ledger): void {
  let socket = plain;
  let isEncrypted = false;
  let received: Buffer = Buffer.alloc(0);
  let content: Buffer[] | undefined;
  let from = "";
  let to = "";
  let mails = 0;

  plain.setNoDelay(true);
  plain.on("error", () => {});
  if (script.tls === "implicit") encrypt();
  else socket.on("data", take);
  void make(script.greeting ?? "220 scripted.test ESMTP");

  function encrypt(): void {
    socket.removeAllListeners("data");
    socket = new TLSSocket(plain, { isServer: true, key: testOnlyKey, cert: testOnlyCertificate });
    isEncrypted = true;
    socket.on("error", () => {});
    socket.on("data", take);
  }

  function take(bytes: Buffer): void {
    received = received.length === 0 ? bytes : Buffer.concat([received, bytes]);
    let start = 0;
    for (let end = received.indexOf("\r\n"); end >= 0; end = received.indexOf("\r\n", start)) {
      const line = received.subarray(start, end);
      start = end + 2;
      if (content) takeContent(line);
      else takeCommand(line.toString());
    }
    received = received.subarray(start);
  }

  function takeContent(line: Buffer): void {
    if (line.length === 1 && line[0] === 0x2e) {
      ledger.mail({ from, to, raw: Buffer.concat(content ?? []), isEncrypted, connection });
      content = undefined;
      mails += 1;
      takeCommand(".");
    } else {
      content?.push(line[0] === 0x2e ? line.subarray(1) : line, crlf);
    }
  }

  function takeCommand(line: string): void {
    ledger.command(line);
    const move = script.answer?.(line, { mails, connection, isEncrypted }) ?? usualAnswer(line);
    if (line.startsWith("MAIL")) {
      from = addressIn(line);
      to = "";
    }
    if (line.startsWith("RCPT") && typeof move === "string" && move.startsWith("250")) to = addressIn(line);
    if (line === "DATA" && typeof move === "string" && move.startsWith("354")) content = [];
    void make(move);
    if (line === "STARTTLS" && move === usualAnswer(line)) {
      if (script.tls === "handshake fails") socket.removeAllListeners("data").once("data", () => socket.write(notTls));
      else encrypt();
    }
    if (line === "QUIT") socket.end();
  }

  function usualAnswer(line: string): string {
    if (line.startsWith("EHLO")) {
      const extensions = (script.extensions ?? []).filter((name) => !(isEncrypted && name === "STARTTLS"));
      return ["scripted.test", ...extensions]
        .map((text, index, all) => `250${index === all.length - 1 ? " " : "-"}${text}`)
        .join("\r\n");
    }
    if (line.startsWith("AUTH PLAIN")) return "235 2.7.0 Welcome";
    if (line === "STARTTLS") return "220 2.0.0 Ready";
    if (line === "DATA") return to === "" ? "554 5.5.1 No valid recipients" : "354 Go on";
    if (line === ".") return `250 2.0.0 Ok: queued as ${connection}A${mails}`;
    if (line === "QUIT") return "221 2.0.0 Bye";
    return "250 2.0.0 Ok";
  }

  async function make(move: Move): Promise<void> {
    if (move === "silence") return;
    if (move === "hang up") socket.end();
    else if (move === "reset") plain.resetAndDestroy();
    else if (typeof move === "string") socket.write(`${move}\r\n`);
    else if ("lastWords" in move) {
      const words = typeof move.lastWords === "string" ? `${move.lastWords}\r\n` : move.lastWords.bytes;
      if (move.isReset) socket.write(words, () => plain.resetAndDestroy());
      else socket.end(words);
    } else {
      for (const packet of move.packets) {
        await new Promise<void>((resolve) => socket.write(packet, () => setTimeout(resolve, 2)));
      }
    }
  }
}

const notTls = "220 this is not TLS\r\n".repeat(10);
const crlf = Buffer.from("\r\n");

function addressIn(line: string): string {
  return /<([^>]*)>/.exec(line)?.[1] ?? "";
}
