import { connect } from "node:net";
import type { NameServer } from "../standards/name-server.ts";
import type { NoAnswer } from "./answers.ts";
import { encodeQuestion, type Message, type Question, readAnswer } from "./message.ts";

export interface Exchange {
  server: NameServer;
  question: Question;
  /** For a random query id. The kernel picks a new port for each exchange: a forger must guess the id and the port. */
  randomBytes: (length: number) => Uint8Array;
  /** Leaves out EDNS, which some old servers reject. */
  isPlain: boolean;
  /** The time limit for the reply, over UDP and TCP together. */
  ms: number;
  signal: AbortSignal;
}

/** Sends one question to one server: over UDP, then over TCP if the reply was truncated or unreadable (RFC 7766 §5). */
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

/** Opens a connection, waits for the reply, the time limit or the signal, whichever comes first, and closes the connection. */
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
 * Sends the query over UDP. It uses a connected socket, so that the kernel drops datagrams from other addresses and ports,
 * and reports if the server's port is closed.
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
    settle("unreachable"); // for example a firewall on this machine
  }
  return socket;
}

/** Sends the query over TCP, where each message begins with two bytes that have its length (RFC 1035 §4.2.2). */
function sendByTcp(server: NameServer, query: Buffer, read: Read, settle: Settle): Connection {
  const socket = connect({ host: server.address, port: server.port });
  const received = Buffer.allocUnsafe(2 + maxTcpBytes);
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

const maxTcpBytes = 65_535;
