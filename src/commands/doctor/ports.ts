import { get } from "node:http";
import { connect, createServer } from "node:net";
import { type Finding, findingsOf } from "./finding.ts";

export interface PortsQuestion {
  host: string;
  port: number;
  smtpHost: string;
  smtpPort: number;
  smtpHostname: string;
  metricsPort: number | undefined;
}

/** Whether the ports can be listened on, or are by a running inboxd. */
export async function checkPorts(question: PortsQuestion): Promise<Finding[]> {
  const { host, port, smtpHost, smtpPort, smtpHostname, metricsPort } = question;
  return Promise.all([
    checkPort({ check: "port of the API", name: "PORT", host, port, isOurs: () => answersHealth(host, port) }),
    checkPort({
      check: "port of SMTP",
      name: "SMTP_PORT",
      host: smtpHost,
      port: smtpPort,
      isOurs: async () => (await greetingOf(smtpHost, smtpPort)).startsWith(`220 ${smtpHostname} `),
    }),
    ...(metricsPort === undefined
      ? []
      : [
          checkPort({
            check: "port of metrics",
            name: "METRICS_PORT",
            host,
            port: metricsPort,
            isOurs: () => answersMetrics(host, metricsPort),
          }),
        ]),
  ]);
}

interface PortQuestion {
  check: string;
  /** Of its variable. */
  name: string;
  host: string;
  port: number;
  isOurs: () => Promise<boolean>;
}

async function checkPort({ check, name, host, port, isOurs }: PortQuestion): Promise<Finding> {
  const { ok, fail } = findingsOf(check);
  const place = `${host}:${port}`;
  if (port === 0) return ok("a free one is taken at each start");
  const trouble = await listenAndClose(host, port);
  if (trouble === undefined) return ok(`${place} is free`);
  if (trouble === "EADDRINUSE") {
    const seen = `${place} is in use`;
    if (await isOurs().catch(() => false)) return ok(`${seen} by a running inboxd`);
    return fail(`${seen} by another program`, `Stop that program, or set ${name} to another port`);
  }
  if (trouble === "EACCES") {
    return fail(
      `${place} is not open to this user`,
      `Ports below 1024 need a right: AmbientCapabilities=CAP_NET_BIND_SERVICE in the unit that "inboxd systemd" prints, or: setcap cap_net_bind_service=+ep <the binary>`,
    );
  }
  return fail(`${place} can't be listened on (${trouble})`, `Set ${hostVariable(name)} to an address of this machine`);
}

function hostVariable(name: string): string {
  return name === "SMTP_PORT" ? "SMTP_HOST" : "HOST";
}

/** Why it can't be, by its code; undefined when it can. */
function listenAndClose(host: string, port: number): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const server = createServer();
  server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  return promise;
}

async function answersHealth(host: string, port: number): Promise<boolean> {
  const { body, requestId } = await answerOf(host, port, "/healthz");
  return requestId !== undefined && (JSON.parse(body) as { status?: unknown }).status === "ok";
}

async function answersMetrics(host: string, port: number): Promise<boolean> {
  const { status, body } = await answerOf(host, port, "/metrics");
  return body.includes("inboxd_build_info") || (status === 401 && body.includes("/metrics"));
}

/** By node:http, because `fetch` would go to a proxy of the environment even for loopback. */
function answerOf(host: string, port: number, path: string) {
  const { promise, resolve, reject } = Promise.withResolvers<{
    status: number | undefined;
    requestId: string | undefined;
    body: string;
  }>();
  const request = get({ host: reachable(host), port, path, timeout: waitMs }, async (response) => {
    const body = (await response.toArray()).join("");
    resolve({ status: response.statusCode, requestId: response.headers["x-request-id"]?.toString(), body });
  });
  request.on("timeout", () => request.destroy(new Error("no answer in time")));
  request.on("error", reject);
  return promise;
}

/** What whoever listens there says first. */
function greetingOf(host: string, port: number): Promise<string> {
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

const waitMs = 3_000;

/** Who listens on all addresses is asked on the nearest. */
function reachable(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  return host === "::" ? "::1" : host;
}
