import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import * as packet from "dns-packet";

/** A question as the server saw it. */
export interface DnsQuestion {
  name: string;
  type: string;
  over: "udp" | "tcp";
  id: number;
  hasEdns: boolean;
  /** The port of the client. */
  port: number;
}

/** The answer: a message, raw bytes, or none (over TCP the connection just ends). */
export type DnsReply = DnsMessage | Uint8Array | "silence";

export interface DnsMessage {
  /** RCODE; 0 unless given. */
  code?: number;
  flags?: number;
  answers?: packet.Answer[];
  authorities?: packet.Answer[];
}

/** Several answers, in order. */
export type DnsScript = (question: DnsQuestion) => DnsReply | DnsReply[] | Promise<DnsReply | DnsReply[]>;

/**
 * A name server on real sockets, UDP and TCP on one port; another library than ours writes its messages. Answers that are too
 * long for the client's datagrams are truncated.
 */
export interface ScriptedDns {
  address: string;
  port: number;
  questions: DnsQuestion[];
  /** Connections over TCP that are open now. */
  connections(): number;
  close(): Promise<void>;
}

export async function scriptedDns(script: DnsScript, address = "127.0.0.1", wantedPort = 0): Promise<ScriptedDns> {
  const questions: DnsQuestion[] = [];
  const sockets = new Set<Socket>();

  async function repliesTo(query: Buffer, over: DnsQuestion["over"], port: number): Promise<Uint8Array[]> {
    const { id = 0, questions: asked = [], additionals = [] } = packet.decode(query);
    const { name = "", type = "" } = asked[0] ?? {};
    const edns = additionals.find((each) => each.type === "OPT");
    const question: DnsQuestion = { name, type, over, id, hasEdns: edns !== undefined, port };
    questions.push(question);
    const room = over === "tcp" ? 65_535 : edns?.type === "OPT" ? edns.udpPayloadSize : 512;
    const replies = await script(question);
    return [replies].flat().flatMap((reply) => {
      if (reply === "silence") return [];
      if (reply instanceof Uint8Array) return [reply];
      const message = encoded(id, asked, reply);
      return [message.length > room ? encoded(id, asked, { flags: packet.TRUNCATED_RESPONSE }) : message];
    });
  }

  const tcp = createServer((socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => socket.destroy());
    let received = Buffer.alloc(0);
    socket.on("data", async (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) return;
      for (const reply of await repliesTo(received.subarray(2), "tcp", socket.remotePort ?? 0)) {
        const whole = Buffer.concat([Uint8Array.of(reply.length >> 8, reply.length & 0xff), reply]);
        // In pieces, as a network may deliver it.
        for (const [from, to] of [[0, 1], [1, 20], [20]]) {
          socket.write(whole.subarray(from, to));
          await new Promise((resolve) => setImmediate(resolve));
        }
      }
      socket.end();
    });
  });
  const { udp, port } = await bothOn(tcp, address, wantedPort, async (query, from, answer) => {
    for (const reply of await repliesTo(query, "udp", from)) answer(reply);
  });

  return {
    address,
    port,
    questions,
    connections: () => sockets.size,
    async close() {
      udp.close();
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => tcp.close(resolve));
    },
  };
}

/** Answers from the records of a zone; follows aliases as a resolver does. */
export function zone(records: readonly packet.Answer[]): DnsScript {
  const names = new Set(records.map(({ name }) => name));
  return ({ name, type }) => {
    const answers: packet.Answer[] = [];
    let end = name;
    for (let hop = 0; hop < 20; hop += 1) {
      const [alias] = records.filter((each) => each.name === end && each.type === "CNAME");
      if (alias?.type !== "CNAME" || type === "CNAME") break;
      answers.push(alias);
      end = alias.data;
    }
    const found = records.filter((each) => each.name === end && each.type === type);
    if (found.length > 0) return { answers: [...answers, ...found] };
    return { code: names.has(end) ? 0 : 3, answers, authorities: [soa(60)] };
  };
}

/** The SOA record of a negative answer, with its TTL. */
export function soa(minimum: number, ttl = 86_400): packet.Answer {
  const data = { mname: "ns.works", rname: "root.works", serial: 1, refresh: 1, retry: 1, expire: 1, minimum };
  return { name: "works", type: "SOA", ttl, data };
}

export function encoded(id: number, questions: packet.Question[], { code = 0, flags = 0, ...rest }: DnsMessage) {
  return packet.encode({ type: "response", id, flags: packet.RECURSION_AVAILABLE | flags | code, questions, ...rest });
}

/** A closed connection shows only in the next write. */
function say(socket: Bun.udp.Socket<"buffer">, message: Uint8Array, port: number, address: string): void {
  if (socket.closed) return;
  try {
    socket.send(message, port, address);
  } catch {
    socket.send(message, port, address);
  }
}

/** A port that is free for UDP and TCP. */
async function bothOn(
  tcp: Server,
  address: string,
  wantedPort: number,
  onQuery: (query: Buffer, from: number, answer: (message: Uint8Array) => void) => void,
) {
  for (let left = 20; ; left -= 1) {
    const udp = await Bun.udpSocket({
      hostname: address,
      port: wantedPort,
      socket: {
        // The client has closed its connection.
        error: () => {},
        data(socket, query, from, peer) {
          onQuery(query, from, (message) => say(socket, message, from, peer));
        },
      },
    });
    tcp.listen(udp.port, address);
    const isListening = await once(tcp, "listening").then(
      () => true,
      () => false,
    );
    if (isListening) return { udp, port: udp.port };
    udp.close();
    if (left === 0 || wantedPort !== 0) throw new Error("no port is free for UDP and TCP");
  }
}
