import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";

/** An SMTP client that sends exactly the given lines, right or wrong. */
export interface RawSmtp {
  /** Writes the octets as they are; strings as UTF-8. Lines need their own CRLF. */
  send(octets: string | Uint8Array): void;
  /** The next whole reply, lines joined by "\n", without CRLF. Rejects when the connection ends first. */
  reply(): Promise<string>;
  /** The next `count` replies. */
  replies(count: number): Promise<string[]>;
  /** Sends one command and returns its reply. */
  ask(command: string): Promise<string>;
  /** Starts TLS, after the 220 to STARTTLS. */
  secure(): Promise<TLSSocket>;
  /** Resolves once the server has closed the connection. */
  readonly closed: Promise<void>;
  readonly socket: Socket;
  /** Closes without QUIT, as a crashed client does. */
  destroy(): void;
}

/** `localAddress` is the address that the server sees; Linux has all of 127.0.0.0/8. */
export async function rawSmtp(port: number, host = "127.0.0.1", localAddress?: string): Promise<RawSmtp> {
  let socket: Socket = connectTcp({ port, host, ...(localAddress !== undefined && { localAddress }) });
  const closed = Promise.withResolvers<void>();
  const waiting: PromiseWithResolvers<string>[] = [];
  const ready: string[] = [];
  let lines: string[] = [];
  let rest = "";
  let over = false;

  function end(): void {
    over = true;
    for (const one of waiting.splice(0)) one.reject(new Error("The connection ended before a reply"));
    closed.resolve();
  }

  function read(chunk: Buffer): void {
    const parts = (rest + chunk.toString("latin1")).split("\r\n");
    rest = parts.pop() ?? "";
    for (const line of parts) {
      lines.push(line);
      if (line[3] === "-") continue;
      const reply = lines.join("\n");
      lines = [];
      const next = waiting.shift();
      if (next === undefined) ready.push(reply);
      else next.resolve(reply);
    }
  }

  function listen(to: Socket): void {
    to.on("data", read);
    to.on("error", () => undefined);
    to.on("close", end);
    to.on("end", end);
  }

  listen(socket);
  await new Promise<void>((resolve, reject) => {
    socket.once("connect", resolve);
    socket.once("error", reject);
  });

  function reply(): Promise<string> {
    const first = ready.shift();
    if (first !== undefined) return Promise.resolve(first);
    if (over) return Promise.reject(new Error("The connection ended before a reply"));
    const next = Promise.withResolvers<string>();
    waiting.push(next);
    return next.promise;
  }

  const client: RawSmtp = {
    send: (octets) => void socket.write(octets),
    reply,
    replies: (count) => Promise.all(Array.from({ length: count }, reply)),
    ask(command) {
      client.send(`${command}\r\n`);
      return reply();
    },
    async secure() {
      const plain = socket;
      plain.removeAllListeners("data");
      const tls = connectTls({ socket: plain, rejectUnauthorized: false });
      await new Promise<void>((resolve, reject) => {
        tls.once("secureConnect", resolve);
        tls.once("error", reject);
      });
      listen(tls);
      socket = tls;
      return tls;
    },
    closed: closed.promise,
    get socket() {
      return socket;
    },
    destroy: () => socket.destroy(),
  };
  return client;
}

/** A client after greeting, EHLO, MAIL, RCPT and DATA, ready to send the mail. */
export async function inData(
  port: number,
  to: string | readonly string[] = "ada@inbox.localhost",
  localAddress?: string,
): Promise<RawSmtp> {
  const client = await greeted(port, localAddress);
  const recipients = [to].flat().map((address) => `RCPT TO:<${address}>`);
  for (const command of ["MAIL FROM:<jane@example.com>", ...recipients, "DATA"]) {
    const reply = await client.ask(command);
    if (!/^[23]/.test(reply)) throw new Error(`Cannot begin a mail: ${command} was answered ${reply}`);
  }
  return client;
}

/** A client after greeting and EHLO. */
export async function greeted(port: number, localAddress?: string): Promise<RawSmtp> {
  const client = await rawSmtp(port, "127.0.0.1", localAddress);
  await client.reply();
  await client.ask("EHLO client.example");
  return client;
}
