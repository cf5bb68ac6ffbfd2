import { type Finding, findingsOf } from "./finding.ts";
import { answerAt, greetingAt, hostVariable, listeningTrouble, serviceIdAt } from "./port-probe.ts";

export interface PortsQuestion {
  host: string;
  port: number;
  smtpHost: string;
  smtpPort: number;
  smtpHostname: string;
  metricsPort: number | undefined;
  identity: Identity;
}

/** By what the service of this database is known at its port. */
export type Identity = { id: string } | "not started yet" | "unknown";

/** Whether the ports can be listened on, or are by the inboxd of this database. */
export async function checkPorts(question: PortsQuestion): Promise<Finding[]> {
  const { host, port, smtpHost, smtpPort, smtpHostname, metricsPort, identity } = question;
  const whose = whoseAt(host, port, identity);
  // Mail and metrics say that they are an inboxd's; which one's is told by who has the port of the API beside them.
  const neighbour = async () => {
    const owner = await whose;
    if (owner === "ours" || identity === "unknown" || port === 0) return "ours";
    return "another inboxd";
  };
  return Promise.all([
    checkPort({ check: "port of the API", name: "PORT", host, port, whose: () => whose }),
    checkPort({
      check: "port of SMTP",
      name: "SMTP_PORT",
      host: smtpHost,
      port: smtpPort,
      whose: async () =>
        (await greetingAt(smtpHost, smtpPort)).startsWith(`220 ${smtpHostname} `) ? neighbour() : "another program",
    }),
    ...(metricsPort === undefined
      ? []
      : [
          checkPort({
            check: "port of metrics",
            name: "METRICS_PORT",
            host,
            port: metricsPort,
            whose: async () => ((await answersMetrics(host, metricsPort)) ? neighbour() : "another program"),
          }),
        ]),
  ]);
}

type Owner = "ours" | "another inboxd" | "another program";

async function whoseAt(host: string, port: number, identity: Identity): Promise<Owner> {
  const found = port === 0 ? undefined : await serviceIdAt(host, port);
  if (found === undefined) return "another program";
  if (identity === "unknown") return "ours";
  return identity !== "not started yet" && identity.id === found ? "ours" : "another inboxd";
}

interface PortQuestion {
  check: string;
  /** Of its variable. */
  name: string;
  host: string;
  port: number;
  /** Who has the port, when it is in use. */
  whose: () => Promise<Owner>;
}

async function checkPort({ check, name, host, port, whose }: PortQuestion): Promise<Finding> {
  const { ok, fail } = findingsOf(check);
  const place = `${host}:${port}`;
  if (port === 0) return ok("a free one is taken at each start");
  const trouble = await listeningTrouble(host, port);
  if (trouble === undefined) return ok(`${place} is free`);
  if (trouble === "EADDRINUSE") {
    const owner = await whose().catch((): Owner => "another program");
    if (owner === "ours") return ok(`${place} is in use by a running inboxd`);
    const that = owner === "another program" ? "that program" : "that one";
    const which = owner === "another program" ? owner : `${owner}, not the one of this database`;
    return fail(`${place} is in use by ${which}`, `Stop ${that}, or set ${name} to another port`);
  }
  if (trouble === "EACCES") {
    return fail(
      `${place} is not open to this user`,
      `Ports below 1024 need a right: AmbientCapabilities=CAP_NET_BIND_SERVICE in the unit that "inboxd systemd" prints, or: setcap cap_net_bind_service=+ep <the binary>`,
    );
  }
  return fail(`${place} can't be listened on (${trouble})`, `Set ${hostVariable(name)} to an address of this machine`);
}

async function answersMetrics(host: string, port: number): Promise<boolean> {
  const { status, body } = await answerAt(host, port, "/metrics");
  return body.includes("inboxd_build_info") || (status === 401 && body.includes("/metrics"));
}
