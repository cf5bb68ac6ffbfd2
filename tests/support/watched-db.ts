import type { Db } from "../../src/database/db.ts";

/** A statement on its way to the database. */
export interface SeenStatement {
  text: string;
  /** How much its parameters hold. */
  sizeBytes: number;
}

/** The same database, told of each statement beforehand, those of transactions too, and of each that was answered. */
export function watchedDb(
  db: Db,
  onStatement: (statement: SeenStatement) => void,
  onAnswer: (statement: SeenStatement) => void = () => undefined,
): Db {
  return {
    async run(text, values) {
      const statement = { text, sizeBytes: values.reduce((sum, value) => sum + (value?.length ?? 0), 0) };
      onStatement(statement);
      const answer = await db.run(text, values);
      onAnswer(statement);
      return answer;
    },
    script: (text) => db.script(text),
    transaction: (work) => db.transaction((inner) => work(watchedDb(inner, onStatement, onAnswer))),
  };
}
