import { createServer, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";

/** A receiver of webhooks on a real socket that follows its script, also where no HTTP library would. */
export interface Receiver {
  port: number;
  url: string;
  /** The whole requests that have arrived. */
  requests: ReceivedRequest[];
  connections(): number;
  /** Sets the behaviour from the next request on. */
  behave(behaviour: Behaviour): void;
  /** Waits for the request with this number (from 1). */
  request(number: number): Promise<ReceivedRequest>;
  /** Waits until `count` connections were made. */
  connected(count: number): Promise<void>;
  /** Closes every connection. */
  disconnect(): void;
  /** Waits until `count` connections were closed. */
  closed(count: number): Promise<void>;
  close(): Promise<void>;
}

export interface ReceivedRequest {
  method: string;
  path: string;
  /** Header names in lower case. */
  headers: Record<string, string>;
  body: string;
  /** The number of its connection, from 1. */
  connection: number;
}

export type Behaviour = (socket: Socket, request: ReceivedRequest) => void;

export interface ReceiverOptions {
  address?: string;
  port?: number;
  tls?: { cert: string; key: string };
  behaviour?: Behaviour;
  /** Bytes sent before any request, as servers of other protocols do. */
  greeting?: string;
}

export async function startReceiver(options: ReceiverOptions = {}): Promise<Receiver> {
  const { address = "127.0.0.1", port: wanted = 0, tls } = options;
  let behaviour = options.behaviour ?? answer(200);
  const requests: ReceivedRequest[] = [];
  const sockets = new Set<Socket>();
  const waiters: (() => void)[] = [];
  let connections = 0;
  let closedConnections = 0;

  function changed(): void {
    for (const waiter of waiters.splice(0)) waiter();
  }
  async function until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => waiters.push(resolve));
  }

  function serve(socket: Socket): void {
    connections += 1;
    const connection = connections;
    let pending = Buffer.alloc(0);
    sockets.add(socket);
    if (options.greeting !== undefined) socket.write(options.greeting);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => {
      sockets.delete(socket);
      closedConnections += 1;
      changed();
    });
    socket.on("data", (chunk: Buffer) => {
      pending = Buffer.concat([pending, chunk]);
      for (let parsed = takeRequest(pending); parsed; parsed = takeRequest(pending)) {
        pending = pending.subarray(parsed.length);
        const request = { ...parsed.request, connection };
        requests.push(request);
        behaviour(socket, request);
        changed();
      }
    });
    changed();
  }

  const server = tls ? createTlsServer(tls, serve) : createServer(serve);
  server.on("tlsClientError", () => undefined);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(wanted, address, resolve);
  });
  const at = server.address();
  const port = typeof at === "object" && at ? at.port : 0;
  return {
    port,
    url: `${tls ? "https" : "http"}://${address.includes(":") ? `[${address}]` : address}:${port}/hook`,
    requests,
    connections: () => connections,
    behave: (next) => {
      behaviour = next;
    },
    async request(number) {
      await until(() => requests.length >= number);
      const request = requests[number - 1];
      if (!request) throw new Error(`No request ${number}`);
      return request;
    },
    connected: (count) => until(() => connections >= count),
    disconnect() {
      for (const socket of sockets) socket.destroy();
    },
    closed: (count) => until(() => closedConnections >= count),
    close() {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => void server.close(() => resolve()));
    },
  };
}

/** A whole answer that leaves the connection open. */
export function answer(status: number, headers: Record<string, string> = {}, body = ""): Behaviour {
  const fields = Object.entries({ ...headers, "content-length": String(Buffer.byteLength(body)) });
  const framed = status === 204 ? Object.entries(headers) : fields;
  const head = framed.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return raw(`HTTP/1.1 ${status} Whatever\r\n${head}\r\n${status === 204 ? "" : body}`);
}

/** Any bytes. */
export function raw(bytes: string | Uint8Array): Behaviour {
  return (socket) => void socket.write(bytes);
}

/** Any bytes, then closes. */
export function rawThenClose(bytes: string | Uint8Array): Behaviour {
  return (socket) => void socket.end(bytes);
}

export const hang: Behaviour = () => undefined;

export const reset: Behaviour = (socket) => void socket.resetAndDestroy();

/** One byte every `everyMs`, without end. */
export function trickle(start: string, everyMs: number): Behaviour {
  return (socket) => {
    socket.write(start);
    const timer = setInterval(() => socket.write("a"), everyMs);
    socket.on("close", () => clearInterval(timer));
  };
}

/** An endless body, as fast as the socket takes it; `sent` counts its bytes. */
export function endless(start: string, piece: Uint8Array, sent: { bytes: number }, limitBytes: number): Behaviour {
  return (socket) => {
    const pour = () => {
      while (!socket.destroyed && sent.bytes < limitBytes) {
        sent.bytes += piece.length;
        if (!socket.write(piece)) return;
      }
    };
    socket.write(start);
    socket.on("drain", pour);
    pour();
  };
}

function takeRequest(bytes: Buffer): { request: Omit<ReceivedRequest, "connection">; length: number } | undefined {
  const headEnd = bytes.indexOf("\r\n\r\n");
  if (headEnd < 0) return undefined;
  const [first = "", ...lines] = bytes.toString("latin1", 0, headEnd).split("\r\n");
  const [method = "", path = ""] = first.split(" ");
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(":");
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  const length = headEnd + 4 + Number(headers["content-length"] ?? 0);
  if (bytes.length < length) return undefined;
  return { request: { method, path, headers, body: bytes.toString("utf8", headEnd + 4, length) }, length };
}
