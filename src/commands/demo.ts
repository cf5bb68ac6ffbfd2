import type { Command } from "commander";
import { apiKeyOption } from "./api-client.ts";
import type { DemoOptions } from "./demo/demo.ts";

export function demoCommand(program: Command): void {
  program
    .command("demo")
    .description("send, receive and reply before your eyes; on a server of its own, unless given one")
    // Not from INBOXD_URL: who has set it for other commands gets a look at inboxd, and no inboxes in a server that is in use.
    .option("--url <url>", "do it on this running server, and tidy up")
    .addOption(apiKeyOption())
    .option("--smtp <host:port>", "SMTP listener of that server (default: its host, port 2525)")
    .option("--json", "print JSON")
    .action(async (options: DemoOptions) => {
      const { demo } = await import("./demo/demo.ts");
      process.exitCode = (await demo(options)) ? 0 : 1;
    });
}
