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

/** The id of the service that uses this database: "not started yet" if it has none, "unknown" if it cannot be read. */
export type Identity = { id: string } | "not started yet" | "unknown";

/** Checks that the ports are free, or in use by the inboxd of this database. */
export async function checkPorts(question: PortsQuestion): Promise<Finding[]> {
  const { host, port, smtpHost, smtpPort, smtpHostname, metricsPort, identity } = question;
  const owner = ownerAt(host, port, identity);
  // The ports of SMTP and metrics show that an inboxd listens, but not which one. So it is taken for ours unless the port of the API shows
  // that it is not.
  const neighbour = async () => {
    const found = await owner;
    if (found === "ours" || identity === "unknown" || port === 0) return "ours";
    return "another inboxd";
  };
  return Promise.all([
    checkPort({ check: "port of the API", name: "PORT", host, port, findOwner: () => owner }),
    checkPort({
      check: "port of SMTP",
      name: "SMTP_PORT",
      host: smtpHost,
      port: smtpPort,
      findOwner: async () =>
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
            findOwner: async () => ((await answersMetrics(host, metricsPort)) ? neighbour() : "another program"),
          }),
        ]),
  ]);
}

type Owner = "ours" | "another inboxd" | "another program";

async function ownerAt(host: string, port: number, identity: Identity): Promise<Owner> {
  const found = port === 0 ? undefined : await serviceIdAt(host, port);
  if (found === undefined) return "another program";
  if (identity === "unknown") return "ours";
  return identity !== "not started yet" && identity.id === found ? "ours" : "another inboxd";
}

interface PortQuestion {
  check: string;
  /** The variable that sets the port. */
  name: string;
  host: string;
  port: number;
  /** Finds the owner of the port if it is in use. */
  findOwner: () => Promise<Owner>;
}

async function checkPort({ check, name, host, port, findOwner }: PortQuestion): Promise<Finding> {
  const { ok, fail } = findingsOf(check);
  const address = `${host}:${port}`;
  if (port === 0) return ok("each start takes a free one");
  const trouble = await listeningTrouble(host, port);
  if (trouble === undefined) return ok(`${address} is free`);
  if (trouble === "EADDRINUSE") {
    const owner = await findOwner().catch((): Owner => "another program");
    if (owner === "ours") return ok(`${address} is in use by a running inboxd`);
    const that = owner === "another program" ? "that program" : "that one";
    const which = owner === "another program" ? owner : `${owner}, not the one of this database`;
    return fail(`${address} is in use by ${which}`, `Stop ${that}, or set ${name} to another port`);
  }
  if (trouble === "EACCES") {
    return fail(
      `${address} is not permitted to this user`,
      `Ports below 1024 need a capability: AmbientCapabilities=CAP_NET_BIND_SERVICE in the unit that "inboxd systemd" prints, or: setcap cap_net_bind_service=+ep <the binary>`,
    );
  }
  return fail(`${address} cannot be opened (${trouble})`, `Set ${hostVariable(name)} to an address of this machine`);
}

async function answersMetrics(host: string, port: number): Promise<boolean> {
  const { status, body } = await answerAt(host, port, "/metrics");
  return body.includes("inboxd_build_info") || (status === 401 && body.includes("/metrics"));
}
