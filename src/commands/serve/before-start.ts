import type { Config } from "../../config.ts";
import { DataDirectoryInUse, isHeld } from "../../database/directory-lock.ts";
import { hostVariable, listeningTrouble, serviceIdAt } from "../doctor/port-probe.ts";

/**
 * Checks that the ports are free before anything is created. A first start prints its key once, after the ports are open: without
 * this check, a start that fails at a port would create a key that nobody has seen.
 */
export async function checkListeners(config: Config): Promise<void> {
  const { host, port, smtpHost, smtpPort, metricsPort, databaseUrl, dataDir } = config;
  const listeners = [
    { variable: "PORT", host, port },
    { variable: "SMTP_PORT", host: smtpHost, port: smtpPort },
    ...(metricsPort === undefined ? [] : [{ variable: "METRICS_PORT", host, port: metricsPort }]),
  ];
  const faults = (await Promise.all(listeners.map(faultOf))).filter((fault) => fault !== undefined);
  // A port that is in use and a locked data directory usually mean that this service is already running.
  // DataDirectoryInUse has an exit code of its own (3).
  if (faults.length > 0 && databaseUrl === undefined && isHeld(dataDir)) throw new DataDirectoryInUse(dataDir);
  if (faults.length === 1) throw new Error(`Cannot start: ${faults[0]}`);
  if (faults.length > 1) throw new Error(`Cannot start:\n${faults.map((fault) => `  ${fault}`).join("\n")}`);
}

interface Listener {
  variable: string;
  host: string;
  port: number;
}

/** Why the port cannot be opened, and the advice. */
async function faultOf({ variable, host, port }: Listener): Promise<string | undefined> {
  const trouble = await listeningTrouble(host, port);
  const address = `${host}:${port}`;
  switch (trouble) {
    case undefined:
      return undefined;
    case "EADDRINUSE": {
      const who = (await serviceIdAt(host, port)) === undefined ? "" : " by another inboxd";
      return `${address} is in use${who}; stop the program there, or set ${variable} to another port (0 takes a free one)`;
    }
    case "EACCES":
      return `${address} is not permitted to this user; set ${variable} to a port above 1023, or give this user the capability (inboxd doctor explains it)`;
    case "EADDRNOTAVAIL":
      return `${address} is not an address of this machine; set ${hostVariable(variable)} to one, or to 0.0.0.0 for all`;
    case "ENOTFOUND":
      return `there is no host ${host}; set ${hostVariable(variable)} to an address of this machine`;
    default:
      return `${address} cannot be opened (${trouble}); check ${hostVariable(variable)} and ${variable}`;
  }
}
