import { connect } from "node:net";
import type { NameServer } from "../standards/name-server.ts";
import type { NoAnswer } from "./answers.ts";
import { encodeQuestion, type Message, type Question, readAnswer } from "./message.ts";

export interface Exchange {
  server: NameServer;
  question: Question;
  /** Chance for the id. The kernel draws the port, which each exchange has for itself: who forges an answer must guess both. */
  randomBytes: (length: number) => Uint8Array;
  /** Leaves out what older servers can't stand. */
  isPlain: boolean;
  /** How long this one may take, TCP included. */
  ms: number;
  signal: AbortSignal;
}

/** One question to one server: by UDP, and by TCP where the answer is too long for that or can't be read (RFC 7766 §5). */
export async function exchange(options: Exchange): Promise<Message | NoAnswer> {
  const { server, question, signal } = options;
  const endMs = performance.now() + options.ms;
  const id = Buffer.from(options.randomBytes(2)).readUInt16BE(0);
  const query = encodeQuestion(question, id, options.isPlain);
  const read = (message: Buffer) => readAnswer(message, id, question);

  const short = await firstOf(options.ms, signal, (settle) => sendByUdp(server, query, read, settle));
  if (short !== "truncated" && short !== "unreadable") return short;
  const leftMs = Math.max(0, endMs - performance.now());
  const whole = await firstOf(leftMs, signal, (settle) => sendByTcp(server, query, read, settle));
  return whole === "truncated" || whole === "unreadable" ? "unreadable answer" : whole;
}

type Reply = Message | "truncated" | "unreadable" | NoAnswer;
type Read = (message: Buffer) => ReturnType<typeof readAnswer>;
type Settle = (reply: Reply) => void;

interface Connection {
  close(): void;
}

/** What comes first: the reply, the end of the time, or the signal. Then the connection is closed. */
async function firstOf(
  ms: number,
  signal: AbortSignal,
  open: (settle: Settle) => Connection | Promise<Connection>,
): Promise<Reply> {
  if (signal.aborted) return "closed";
  const { promise, resolve: settle } = Promise.withResolvers<Reply>();
  const timer = setTimeout(settle, ms, "no answer in time");
  const stop = () => settle("closed");
  signal.addEventListener("abort", stop);
  try {
    const connection = await open(settle);
    const reply = await promise;
    connection.close();
    return reply;
  } catch {
    return "unreachable";
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
  }
}

/**
 * A connected socket: the kernel lets nothing through but what comes from the server's address and port, and tells when
 * nobody listens there.
 */
async function sendByUdp(server: NameServer, query: Buffer, read: Read, settle: Settle): Promise<Connection> {
  const socket = await Bun.udpSocket({
    hostname: server.address.includes(":") ? "::" : "0.0.0.0",
    connect: { hostname: server.address, port: server.port },
    socket: {
      data(_socket, message) {
        const answer = read(message);
        if (answer !== "foreign") settle(answer);
      },
      error: () => settle("unreachable"),
    },
  });
  try {
    socket.send(query);
  } catch {
    settle("unreachable"); // a firewall of this machine
  }
  return socket;
}

/** A message comes behind its length (RFC 1035 §4.2.2). */
function sendByTcp(server: NameServer, query: Buffer, read: Read, settle: Settle): Connection {
  const socket = connect({ host: server.address, port: server.port });
  const received = Buffer.allocUnsafe(2 + mostTcpBytes);
  let bytes = 0;
  socket.on("data", (chunk: Buffer) => {
    bytes += chunk.copy(received, bytes);
    if (bytes < 2) return;
    const end = 2 + received.readUInt16BE(0);
    if (bytes < end) return;
    const answer = read(received.subarray(2, end));
    settle(answer === "foreign" ? "unreadable" : answer);
  });
  socket.on("error", () => settle("unreachable"));
  socket.on("close", () => settle("unreachable"));
  const length = Buffer.alloc(2);
  length.writeUInt16BE(query.length);
  socket.write(Buffer.concat([length, query]));
  return { close: () => socket.destroy() };
}

const mostTcpBytes = 65_535;
