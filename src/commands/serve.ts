import type { Command } from "commander";

export function serveCommand(program: Command): void {
  program
    .command("serve")
    .description("run the service; all settings come from the environment")
    .action(async () => {
      const { serve } = await import("./serve/serve.ts");
      process.exitCode = await serve();
    });
}
