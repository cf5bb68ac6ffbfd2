import { get } from "node:http";
import { connect, createServer } from "node:net";
import { serviceIdHeader } from "../../standards/service-id.ts";

/** Why nobody can listen there, by its code; undefined when somebody can. */
export function listeningTrouble(host: string, port: number): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const server = createServer();
  server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  return promise;
}

/** By which the inboxd that answers there is known; undefined when it is another program. */
export async function serviceIdAt(host: string, port: number): Promise<string | undefined> {
  const answer = await answerAt(host, port, "/healthz").catch(() => undefined);
  return answer?.headers.get(serviceIdHeader) ?? undefined;
}

export interface ProbeAnswer {
  status: number | undefined;
  headers: Headers;
  body: string;
}

/** By node:http, because `fetch` would go to a proxy of the environment even for loopback. */
export function answerAt(host: string, port: number, path: string): Promise<ProbeAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<ProbeAnswer>();
  const request = get({ host: reachable(host), port, path, agent: false, timeout: waitMs }, async (response) => {
    try {
      const body = (await response.toArray()).join("");
      const told = Object.entries(response.headers).map(([name, value]): [string, string] => [name, String(value)]);
      resolve({ status: response.statusCode, headers: new Headers(told), body });
    } catch (error) {
      reject(error);
    }
  });
  request.on("timeout", () => request.destroy(new Error(`no answer within ${waitMs / 1000} s`)));
  request.on("error", reject);
  return promise;
}

/** What whoever listens there says first. */
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

/** The setting that says where the port of this one is. */
export function hostVariable(portVariable: string): string {
  return portVariable === "SMTP_PORT" ? "SMTP_HOST" : "HOST";
}

const waitMs = 3_000;

/** Who listens on all addresses is asked on the nearest. */
function reachable(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  return host === "::" ? "::1" : host;
}
