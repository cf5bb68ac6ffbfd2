import type { Db } from "../../src/database/db.ts";

/** A statement before it reaches the database. */
export interface SeenStatement {
  text: string;
  /** The size of its parameters. */
  sizeBytes: number;
}

/** The database with a callback before and after each statement, also in transactions. */
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
