import { connect, createServer } from "node:net";
import { serviceIdHeader } from "../../standards/service-id.ts";

/** The error code of an attempt to listen there; undefined if it works. */
export function listeningTrouble(host: string, port: number): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const server = createServer();
  server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  return promise;
}

/** The id of the inboxd that answers there; undefined for another program. */
export async function serviceIdAt(host: string, port: number): Promise<string | undefined> {
  const answer = await answerAt(host, port, "/healthz").catch(() => undefined);
  return answer?.headers.get(serviceIdHeader) ?? undefined;
}

export interface ProbeAnswer {
  status: number;
  headers: Headers;
  body: string;
}

/** Requests `path` from a port of this machine, without the proxy of the environment. */
export async function answerAt(host: string, port: number, path: string): Promise<ProbeAnswer> {
  const name = reachable(host);
  const response = await fetch(`http://${name.includes(":") ? `[${name}]` : name}:${port}${path}`, {
    proxy: false,
    redirect: "manual",
    signal: AbortSignal.timeout(waitMs),
  });
  return { status: response.status, headers: response.headers, body: await response.text() };
}

/** The first bytes that a server sends. */
export function greetingAt(host: string, port: number): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect({ host: reachable(host), port });
  socket.setTimeout(waitMs, () => socket.destroy(new Error("no greeting in time")));
  socket.once("data", (bytes) => {
    resolve(bytes.toString("latin1"));
    socket.write("QUIT\r\n");
    socket.destroySoon();
  });
  socket.once("error", reject);
  socket.once("close", () => reject(new Error("closed without a greeting")));
  return promise;
}

/** The name of the host setting that belongs to a port setting. */
export function hostVariable(portVariable: string): string {
  return portVariable === "SMTP_PORT" ? "SMTP_HOST" : "HOST";
}

const waitMs = 3_000;

/** The address to connect to. A server on all addresses also listens on loopback. */
function reachable(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  return host === "::" ? "::1" : host;
}
