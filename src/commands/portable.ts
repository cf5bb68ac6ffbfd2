import type { Command } from "commander";
import { reporting } from "./cli.ts";
import type { ExportOptions, ImportOptions } from "./move/everything.ts";

/** Adds `export` and `import`. They move all data from the embedded database to Postgres or into a backup, or one account to another service. */
export function portableCommands(program: Command): void {
  program
    .command("export <file>")
    .description("write all data, with ids and secrets, to a new file or to stdout (-); the service may run meanwhile")
    .option("--account <name>", "only this account, to import it beside the accounts of another service")
    .option("--after <file>", "only what has changed in the account since this export of it")
    .option("--json", "print JSON")
    .action(async (path: string, options: ExportOptions) => {
      const { exportAs } = await import("./move/everything.ts");
      await exportAs(path, options);
    });
  reporting(
    program
      .command("import <file>")
      .description("import an export, from a file or stdin (-), into an empty database; resumes after an interruption")
      .option("--beside", "import the export of one account into a service that has others")
      .option(
        "--ahead",
        "import it before the account moves: nothing of it is reachable until what has changed since is imported",
      )
      .option("--undo", "delete what was imported of it ahead"),
    async (path: string, options: ImportOptions) => {
      const { importFrom } = await import("./move/everything.ts");
      return importFrom(path, options);
    },
  );
}
