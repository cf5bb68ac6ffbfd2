import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Exim's program, as Debian's `exim4-daemon-light` has it; undefined where it is missing or this process may not start it. */
export const eximPath = process.getuid?.() === 0 ? (Bun.which("exim4") ?? undefined) : undefined;

export interface Exim {
  /** Delivers the mail that waits. */
  runQueue(): Promise<void>;
  stop(): Promise<void>;
}

export interface EximOptions {
  port: number;
  domain: string;
  /** The transport of the domain, with its name in front. */
  transport: string;
}

/** Starts one that listens on a port and has one domain, in a directory that every user may enter. Its log is `spool/main` there. */
export async function startEximIn(home: string, { port, domain, transport }: EximOptions): Promise<Exim> {
  const config = join(home, "exim.conf");
  const spool = join(home, "spool");
  mkdirSync(spool, { recursive: true });
  await Bun.$`chown Debian-exim ${spool}`.quiet();
  const [name = ""] = transport.split(":");
  const lines = [
    `spool_directory = ${spool}`,
    `log_file_path = ${spool}/%s`,
    `pid_file_path = ${spool}/pid`,
    "keep_environment = PATH",
    `exim_path = ${eximPath}`,
    "local_interfaces = 127.0.0.1",
    `daemon_smtp_ports = ${port}`,
    "primary_hostname = mx.example.org",
    "acl_smtp_rcpt = accept",
    // A daemon with a configuration of its own may not change the user, so `runQueue` delivers.
    "queue_only",
    "rfc1413_query_timeout = 0s",
    "begin routers",
    `here:\n  driver = accept\n  domains = ${domain}\n  transport = ${name}`,
    "begin transports",
    transport,
    "begin retry",
    "* * F,1h,1s",
  ];
  writeFileSync(config, `${lines.join("\n")}\n`, { mode: 0o644 });
  const daemon = Bun.spawn([eximPath ?? "", "-C", config, "-bdf"], { stdio: ["ignore", "inherit", "inherit"] });
  return {
    async runQueue() {
      await Bun.$`${eximPath} -C ${config} -qf`.quiet();
    },
    async stop() {
      daemon.kill();
      await daemon.exited;
    },
  };
}
