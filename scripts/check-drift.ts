/** Fails when a generated file is not what its source makes: the migration, or the types of the SDK. Writes nothing. */
import { isMigrationFresh } from "./make-migration.ts";
import { areTypesFresh } from "./make-sdk-types.ts";

report(
  isMigrationFresh(),
  "drizzle/0000_schema.sql",
  "src/store/schema.ts",
  "`bun run migration` and `bun run cluster`",
);
report(await areTypesFresh(), "sdk/typescript/src/openapi.ts", "the API", "`bun run sdk`");

function report(isFresh: boolean, file: string, source: string, cure: string): void {
  if (isFresh) console.log(`${file} is what ${source} makes`);
  else {
    console.error(`${file} is not what ${source} makes: run ${cure}`);
    process.exitCode = 1;
  }
}
