import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A Postfix of the test's own, set up as by its package. */
export interface Postfix {
  /** The directory of its configuration, which its programs take with `-c` or `-C`. */
  config: string;
  stop(): Promise<void>;
}

export interface PostfixOptions {
  /** Further lines of main.cf. */
  settings: readonly string[];
  /** Its port; without one it does not listen. */
  port?: number;
  /** Further lines of master.cf. */
  services?: string;
}

/** Whether this machine has it and this process may start it, which takes root. */
export const hasPostfix = existsSync("/usr/sbin/postfix") && process.getuid?.() === 0;

/** Starts one in a directory that every user may enter. */
export async function startPostfixIn(
  home: string,
  { settings, port, services: own = "" }: PostfixOptions,
): Promise<Postfix> {
  const config = join(home, "etc");
  for (const path of [home, config, join(home, "queue"), join(home, "data")]) mkdirSync(path, { recursive: true });
  const common = [
    "compatibility_level = 3.6",
    `queue_directory = ${home}/queue`,
    `data_directory = ${home}/data`,
    "inet_protocols = ipv4",
    "mydestination =",
    `maillog_file = ${home}/log`,
    `maillog_file_prefixes = ${home}`,
  ];
  writeFileSync(join(config, "main.cf"), `${[...common, ...settings].join("\n")}\n`);
  const services = await Bun.file(masterFile()).text();
  const door = port === undefined ? "" : `127.0.0.1:${port} inet n - n - - smtpd`;
  // No chroot, which would need more set-up.
  const master = services.replace(/^smtp +inet .*$/m, door).replace(/^(\S+ +(?:unix|inet|fifo) +\S+ +\S+ +)y/gm, "$1n");
  writeFileSync(join(config, "master.cf"), `${master}\npostlog unix-dgram n - n - 1 postlogd\n${own}`);
  await Bun.$`chown postfix ${home}/data`.quiet();
  await Bun.$`/usr/sbin/postfix -c ${config} set-permissions`.quiet().nothrow();
  await Bun.$`/usr/sbin/postfix -c ${config} start`.quiet();
  return {
    config,
    async stop() {
      await Bun.$`/usr/sbin/postfix -c ${config} abort`.quiet().nothrow();
    },
  };
}

function masterFile(): string {
  return ["/usr/share/postfix/master.cf.dist", "/etc/postfix/master.cf"].find((path) => existsSync(path)) ?? "";
}
