import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inWords } from "./documentation.ts";
import type { RunningInboxd } from "./inboxd.ts";
import { freePort } from "./server-in-front.ts";

/** The ports of a balancer before two cells: of the API, and for each cell those of the other cell's mail and of SMTP. */
export interface CellPorts {
  api: number;
  inside: readonly [number, number];
  smtp: readonly [number, number];
}

export async function freeCellPorts(): Promise<CellPorts> {
  return {
    api: await freePort(),
    inside: [await freePort(), await freePort()],
    smtp: [await freePort(), await freePort()],
  };
}

/** Starts a HAProxy before two cells, with the files of `deploy/cells/` in this directory: other addresses, one process a cell, no TLS. */
export function startCellBalancer(
  directory: string,
  ports: CellPorts,
  cells: readonly Pick<RunningInboxd, "api" | "smtpPort">[],
): Bun.Subprocess {
  const backends = cells.flatMap(({ api, smtpPort }, number) => [
    [`10.0.${number}.11:3000`, new URL(api).host],
    [`10.0.${number}.11:2525`, `127.0.0.1:${smtpPort}`],
  ]);
  const words = {
    ":443 ssl crt /etc/haproxy/mail.example.com.pem alpn h2,http/1.1": `127.0.0.1:${ports.api}`,
    "__Host-inboxd": "inboxd",
    "10.0.0.5:3100": `127.0.0.1:${ports.inside[0]}`,
    "10.0.0.5:3101": `127.0.0.1:${ports.inside[1]}`,
    "192.0.2.10:25": `127.0.0.1:${ports.smtp[0]}`,
    "192.0.2.11:25": `127.0.0.1:${ports.smtp[1]}`,
    ...Object.fromEntries(backends),
    // The line of the certificate has this path too, so it is replaced last.
    "/etc/haproxy": directory,
  };
  for (const name of ["haproxy.cfg", "cells.map", "hosts.map", "moved.map"]) {
    const file = readFileSync(join(import.meta.dir, "../../deploy/cells", name), "utf8");
    writeFileSync(join(directory, name), inWords(file.replaceAll(/^ {2}server b .*\n/gm, ""), words));
  }
  return Bun.spawn(["/usr/sbin/haproxy", "-W", "-q", "-f", join(directory, "haproxy.cfg")], {
    stdio: ["ignore", "inherit", "inherit"],
  });
}
