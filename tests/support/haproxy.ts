import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const program = "/usr/sbin/haproxy";

/** Whether this machine has it. */
export const hasHaproxy = existsSync(program);

/** Starts a HAProxy that passes connections to a port on to another, with these words behind the server, such as `send-proxy-v2`. */
export function startHaproxy(port: number, to: number, words: string): { stop(): Promise<void> } {
  const directory = mkdtempSync(join(tmpdir(), "ibx-haproxy-"));
  const config = join(directory, "haproxy.cfg");
  const lines = [
    "defaults",
    "  mode tcp",
    "  timeout client 1m",
    "  timeout server 1m",
    "  timeout connect 5s",
    "listen smtp",
    `  bind 127.0.0.1:${port}`,
    `  server one 127.0.0.1:${to} ${words}`,
  ];
  writeFileSync(config, `${lines.join("\n")}\n`);
  const child = Bun.spawn([program, "-db", "-f", config], { stdio: ["ignore", "ignore", "ignore"] });
  return {
    async stop() {
      child.kill("SIGKILL");
      await child.exited;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
