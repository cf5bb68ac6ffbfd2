import { Type } from "@sinclair/typebox";
import type { Logger } from "pino";
import { queryJudge } from "../judging/faults.ts";
import { type Account, type AuthenticateStream, authenticatedStream, socketPath } from "./auth.ts";
import { problemOf, refusalOf, unavailable } from "./errors.ts";
import { requestId, requestIdHeader } from "./request-headers.ts";

/** What Bun knows of a WebSocket, as far as a session needs it. */
export interface Socket {
  /** Bytes that lie here for the client, beside what the kernel has taken. */
  unsentBytes(): number;
  /** Bytes of messages that the client has taken. */
  takenBytes(): number;
  send(text: string): void;
  ping(): void;
  /** Says goodbye; who does not answer it is cut off. */
  close(code: number, reason: string): void;
  cutOff(): void;
}

/** One client at a socket. */
export interface SocketSession {
  opened(socket: Socket): void;
  received(message: string | Uint8Array): void;
  drained(): void;
  ponged(): void;
  closed(): void;
}

/** Stands in front of the app: what becomes a socket is no request any more. */
export interface SocketDoor {
  isAskedFor(request: Request): boolean;
  /** A session, or the answer to who may have none. */
  admit(request: Request): Promise<SocketSession | Response>;
}

export interface SocketDoorDeps extends AuthenticateStream {
  isDraining(): boolean;
  newRequestId(): string;
  log: Logger;
  newSession(account: Account): SocketSession;
}

/** The door of the app (app.ts), for sockets: the same checks in the same order. */
export function socketDoor(deps: SocketDoorDeps): SocketDoor {
  return {
    isAskedFor: (request) =>
      request.headers.get("upgrade")?.toLowerCase() === "websocket" &&
      request.method === "GET" &&
      new URL(request.url).pathname === socketPath,
    async admit(request) {
      const id = requestId(request.headers.get(requestIdHeader), deps.newRequestId);
      const asked = { method: request.method, path: socketPath, request_id: id };
      try {
        if (deps.isDraining()) throw unavailable("the service is shutting down", { connection: "close" });
        const account = await authenticatedStream(request, deps);
        judgeQuery(new URL(request.url).search);
        deps.log.debug({ ...asked, status: 101 }, "request answered");
        return deps.newSession(account);
      } catch (error) {
        const refusal = refusalOf({ error, ...asked }, deps.log);
        const { status, headers, body } = problemOf(refusal, socketPath, id, request.headers.get("accept"));
        deps.log.debug({ ...asked, status }, "request answered");
        return new Response(JSON.stringify(body), { status, headers: { ...headers, [requestIdHeader]: id } });
      }
    },
  };
}

/** What a socket tells is said by its messages. */
const judgeQuery = queryJudge(Type.Object({ token: Type.Optional(Type.String()) }), "open a socket");

export async function upgraded(
  request: Request,
  server: Bun.Server<SocketSession>,
  admitted: Promise<SocketSession | Response>,
): Promise<Response | undefined> {
  const session = await admitted;
  if (session instanceof Response) return session;
  if (server.upgrade(request, { data: session })) return undefined;
  return new Response(null, { status: 400 });
}

export const socketHandlers: Bun.WebSocketHandler<SocketSession> = {
  open: (socket) => socket.data.opened(asSocket(socket)),
  message: (socket, message) => socket.data.received(message),
  drain: (socket) => socket.data.drained(),
  pong: (socket) => socket.data.ponged(),
  close: (socket) => socket.data.closed(),
  // A session says itself what is too long; what is far beyond that is not even read.
  maxPayloadLength: 64 << 10,
  // Past it a frame would be dropped without a word. A session writes nothing while there is anything much to take.
  backpressureLimit: 256 << 20,
  // A session pings by itself, and looks who answers.
  idleTimeout: 0,
  sendPings: false,
  perMessageDeflate: false,
};

const goodbyeMs = 5_000;

function asSocket(socket: Bun.ServerWebSocket<SocketSession>): Socket {
  let sentBytes = 0;
  return {
    unsentBytes: () => socket.getBufferedAmount(),
    takenBytes: () => sentBytes - socket.getBufferedAmount(),
    send(text) {
      sentBytes += Buffer.byteLength(text);
      socket.send(text);
    },
    ping: () => void socket.ping(),
    close(code, reason) {
      socket.close(code, reason);
      setTimeout(() => socket.terminate(), goodbyeMs).unref();
    },
    cutOff: () => socket.terminate(),
  };
}
