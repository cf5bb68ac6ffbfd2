import { garbageOfAnswers } from "./embedded-garbage.ts";
import { readAnswer, statementMessages } from "./embedded-protocol.ts";
import type { WireValue } from "./wire.ts";

/**
 * Prepared statements of the embedded engine, where planning takes ten times as long as on a server. This uses the extended query protocol
 * (PostgreSQL, chapter 55.2.3): Parse once for each text, then Bind, Describe, Execute and Sync in one round trip for each call.
 */
export interface PreparedStatements {
  run(text: string, values: readonly WireValue[]): Promise<object[]>;
}

/** The most prepared statements. The service has fewer texts; if one depends on its parameters, this limits the engine's memory. */
const mostStatements = 500;

/** Sends messages of the wire protocol, and returns the answers. */
type Send = (message: Uint8Array<ArrayBuffer>) => Promise<Uint8Array>;

export function preparedStatements(
  send: Send,
  onNotify: (channel: string, payload: string) => void,
): PreparedStatements {
  const countGarbage = garbageOfAnswers();
  const names = new Map<string, string>();
  /** The names of statements to close with the next call. */
  let abandoned: string[] = [];
  let made = 0;

  function forget(text: string, name: string): void {
    if (names.get(text) === name) names.delete(text);
    abandoned.push(name);
  }

  /** Keeps a statement, unless another call has prepared the same text at the same time. */
  function keep(text: string, name: string): void {
    if (!names.has(text)) names.set(text, name);
    else if (names.get(text) !== name) abandoned.push(name);
  }

  return {
    async run(text, values) {
      const known = names.get(text);
      const [oldest] = names;
      if (known === undefined && oldest !== undefined && names.size >= mostStatements) forget(...oldest);
      const closing = abandoned;
      abandoned = [];
      made += known === undefined ? 1 : 0;
      const name = known ?? `s${made}`;
      const parse = known === undefined ? text : undefined;
      try {
        const answer = await send(statementMessages({ closing, parse, name, values }));
        const { rows, columns } = readAnswer(answer, onNotify);
        countGarbage(answer.length, rows.length * columns);
        keep(text, name);
        return rows;
      } catch (error) {
        // The statement is forgotten: it may not have been parsed, or a change of the schema may have made its plan invalid.
        forget(text, name);
        throw error;
      }
    },
  };
}
