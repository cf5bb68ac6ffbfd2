import type { Db } from "../../src/database/db.ts";
import type { Runner } from "../../src/database/pool.ts";
import { drizzleOver } from "../../src/database/session.ts";

/** A statement on its way to the database. */
export interface SeenStatement {
  text: string;
  /** How much its parameters hold. */
  sizeBytes: number;
}

/** The same database, told of each statement beforehand, those of transactions too. */
export function watchedDb(db: Db, onStatement: (statement: SeenStatement) => void): Db {
  const { runner } = db._.session as unknown as { runner: Runner };
  return drizzleOver(watched(runner));

  function watched(own: Runner): Runner {
    return {
      run(text, values, shape) {
        onStatement({ text, sizeBytes: values.reduce((sum, value) => sum + (value?.length ?? 0), 0) });
        return own.run(text, values, shape);
      },
      script: (text) => own.script(text),
      transaction: (work) => own.transaction((inner) => work(watched(inner))),
    };
  }
}
