import type { Command } from "commander";
import { apiKeyOption } from "./client.ts";
import type { DemoOptions } from "./demo/demo.ts";

export function demoCommand(program: Command): void {
  program
    .command("demo")
    .description("send, receive and reply, step by step, on a temporary server or on the one given")
    // Ignores INBOXD_URL, so that the demo never makes inboxes on a server in use by accident.
    .option("--url <url>", "run it on this server, and clean up afterwards")
    .addOption(apiKeyOption())
    .option("--smtp <host:port>", "SMTP listener of that server (default: its host, port 2525)")
    .option("--json", "print JSON")
    .action(async (options: DemoOptions) => {
      const { demo } = await import("./demo/demo.ts");
      process.exitCode = (await demo(options)) ? 0 : 1;
    });
}
