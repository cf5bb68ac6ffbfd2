import type { Command } from "commander";
import { reporting } from "./cli.ts";

/** Adds `export` and `import`. They move all data from the embedded database to Postgres, or into a backup. */
export function portableCommands(program: Command): void {
  program
    .command("export <file>")
    .description("write all data, with ids and secrets, to a new file or to stdout (-); the service may run meanwhile")
    .option("--json", "print JSON")
    .action(async (path: string, options: { json?: boolean }) => {
      const { exportAs } = await import("./move/everything.ts");
      await exportAs(path, options);
    });
  reporting(
    program
      .command("import <file>")
      .description("import an export, from a file or stdin (-), into an empty database; resumes after an interruption"),
    async (path: string) => {
      const { importFrom } = await import("./move/everything.ts");
      return importFrom(path);
    },
  );
}
