import { readFile } from "node:fs/promises";
import { type NameServer, parseNameServer } from "../standards/name-server.ts";

/**
 * The name servers that this machine uses (resolv.conf(5)), itself where it names none. The file is read anew for each
 * question that goes out: a machine that changes its network must not need a new process.
 */
export async function systemServers(path = "/etc/resolv.conf"): Promise<readonly NameServer[]> {
  const text = await readFile(path, "utf8").catch(() => "");
  const servers = text.split("\n").flatMap((line) => {
    const [, address] = /^\s*nameserver\s+(\S+)/.exec(line) ?? [];
    const server = address === undefined ? undefined : parseNameServer(address);
    return server === undefined ? [] : [server];
  });
  return servers.length > 0 ? servers.slice(0, mostServers) : [{ address: "127.0.0.1", port: 53 }];
}

/** As many as the C library takes from that file. */
const mostServers = 3;
