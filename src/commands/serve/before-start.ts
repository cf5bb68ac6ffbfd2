import type { Config } from "../../config.ts";
import { DataDirectoryInUse, isHeld } from "../../database/directory-lock.ts";
import { hostVariable, listeningTrouble, serviceIdAt } from "../doctor/port-probe.ts";

/**
 * Looks whether the listeners can come up, before anything is made. A first start shows its key once and when they are
 * up: one that failed at a port would have made a key that nobody ever saw.
 */
export async function checkListeners(config: Config): Promise<void> {
  const { host, port, smtpHost, smtpPort, metricsPort, databaseUrl, dataDir } = config;
  const places = [
    { variable: "PORT", host, port },
    { variable: "SMTP_PORT", host: smtpHost, port: smtpPort },
    ...(metricsPort === undefined ? [] : [{ variable: "METRICS_PORT", host, port: metricsPort }]),
  ];
  const faults = (await Promise.all(places.map(faultOf))).filter((fault) => fault !== undefined);
  // Most often it is the same service, started twice: that has an exit code of its own.
  if (faults.length > 0 && databaseUrl === undefined && isHeld(dataDir)) throw new DataDirectoryInUse(dataDir);
  if (faults.length === 1) throw new Error(`Cannot start: ${faults[0]}`);
  if (faults.length > 1) throw new Error(`Cannot start:\n${faults.map((fault) => `  ${fault}`).join("\n")}`);
}

interface Place {
  variable: string;
  host: string;
  port: number;
}

/** What is in the way of listening there, and what to set. */
async function faultOf({ variable, host, port }: Place): Promise<string | undefined> {
  const trouble = await listeningTrouble(host, port);
  const place = `${host}:${port}`;
  switch (trouble) {
    case undefined:
      return undefined;
    case "EADDRINUSE": {
      const who = (await serviceIdAt(host, port)) === undefined ? "" : " by another inboxd";
      return `${place} is in use${who}; stop what has it, or set ${variable} to another port (0 takes a free one)`;
    }
    case "EACCES":
      return `${place} is not open to this user; set ${variable} to a port above 1023, or give the right to it (inboxd doctor says how)`;
    case "EADDRNOTAVAIL":
      return `${place} is no address of this machine; set ${hostVariable(variable)} to one, or to 0.0.0.0 for all`;
    case "ENOTFOUND":
      return `there is no host ${host}; set ${hostVariable(variable)} to an address of this machine`;
    default:
      return `${place} can't be listened on (${trouble}); look at ${hostVariable(variable)} and ${variable}`;
  }
}
