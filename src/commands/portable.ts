import type { Command } from "commander";
import { reporting } from "./cli.ts";

/** Moving the service: from the embedded database to Postgres, or into a backup. */
export function portableCommands(program: Command): void {
  program
    .command("export <file>")
    .description("write everything to a new file, or to stdout (-), ids and secrets included; the service may run")
    .option("--json", "print JSON")
    .action(async (path: string, options: { json?: boolean }) => {
      const { exportAs } = await import("./move/everything.ts");
      await exportAs(path, options);
    });
  reporting(
    program
      .command("import <file>")
      .description(
        "read an export, from a file or stdin (-), into an empty database; goes on where it was interrupted",
      ),
    async (path: string) => {
      const { importFrom } = await import("./move/everything.ts");
      return importFrom(path);
    },
  );
}
