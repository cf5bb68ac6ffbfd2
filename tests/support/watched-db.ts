import type { Db } from "../../src/database/db.ts";

/** A statement on its way to the database. */
export interface SeenStatement {
  text: string;
  /** How much its parameters hold. */
  sizeBytes: number;
}

/** The same database, told of each statement beforehand, those of transactions too. */
export function watchedDb(db: Db, onStatement: (statement: SeenStatement) => void): Db {
  return {
    run(text, values) {
      onStatement({ text, sizeBytes: values.reduce((sum, value) => sum + (value?.length ?? 0), 0) });
      return db.run(text, values);
    },
    script: (text) => db.script(text),
    transaction: (work) => db.transaction((inner) => work(watchedDb(inner, onStatement))),
  };
}
