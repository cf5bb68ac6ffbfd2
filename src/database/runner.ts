import type { BlobStore } from "../blobs/blob-store.ts";
import { asStoreError, DatabaseUnavailable, leavesConnectionWhole } from "./unavailable.ts";
import type { WireValue } from "./wire.ts";

/** One session with an engine, which answers statements in order. Once it is not open, it never opens again. */
export interface Connection {
  readonly isOpen: boolean;
  /** Whether it has answered a statement before, which proves that it is connected. */
  readonly hasAnswered: boolean;
  /** Returns the rows, as objects. */
  run(text: string, values: WireValue[]): Promise<object[]>;
  /** Runs one or more statements without parameters; returns the command tag of the last. */
  script(text: string): Promise<string>;
  /** Ends the session at once: its running statements fail, and the server rolls its transaction back. */
  sever(): void;
  close(): Promise<void>;
}

/** Runs statements: a pool, or a transaction on one of its connections. */
export interface Runner {
  /** Returns the rows, as objects. */
  run(text: string, values: WireValue[]): Promise<object[]>;
  script(text: string): Promise<string>;
  transaction<T>(work: (runner: Runner) => Promise<T>): Promise<T>;
  /** The store for bytes outside of the database. A transaction has none, because it must not wait for another server. */
  readonly blobs?: BlobStore | undefined;
}

/**
 * Runs a transaction on one connection. Its runner refuses statements after the end of the transaction, so that none of them runs
 * outside of it. Statements run one after the other, also if they are started at the same time.
 */
export async function inTransaction<T>(connection: Connection, work: (runner: Runner) => Promise<T>): Promise<T> {
  let over = false;
  let savepoints = 0;
  const begun = attempt(connection, () => connection.script("begin"));
  begun.catch(ignore);
  // On a connection that has answered before, the first statement is sent together with `begin`, which saves a round trip. If `begin` does
  // not arrive, neither does the statement.
  let tail: Promise<unknown> = connection.hasAnswered ? Promise.resolve() : begun;

  function next<R>(start: () => Promise<R>): Promise<R> {
    const mine = tail.then(() => {
      if (over) throw new Error("Cannot run a statement: its transaction is over");
      return attempt(connection, start);
    });
    tail = mine.catch(ignore);
    return mine;
  }

  const runner: Runner = {
    run: (text, values) => next(() => connection.run(text, values)),
    script: (text) => next(() => connection.script(text)),
    async transaction(inner) {
      const name = `nested_${++savepoints}`;
      await runner.script(`savepoint ${name}`);
      try {
        const result = await inner(runner);
        await runner.script(`release savepoint ${name}`);
        return result;
      } catch (error) {
        if (connection.isOpen) await runner.script(`rollback to savepoint ${name}`);
        throw error;
      }
    },
  };

  await tail;
  try {
    const result = await work(runner);
    await begun;
    await tail;
    over = true;
    const tag = await attempt(connection, () => connection.script("commit"));
    // A failed transaction answers COMMIT with ROLLBACK and without an error.
    if (tag !== "COMMIT") throw new Error("Cannot commit: a statement of the transaction had failed");
    return result;
  } catch (error) {
    over = true;
    if (connection.isOpen)
      await attempt(connection, () => connection.script("rollback")).catch(() => connection.sever());
    // The error of a failed `begin` says why the connection was lost, which is all that a statement after it can say.
    throw await begun.then(
      () => error,
      (failure) => failure,
    );
  }
}

/** Runs one step on a connection. If it fails, throws a store error, and severs the connection unless it can run another statement. */
export async function attempt<T>(connection: Connection, step: () => Promise<T>): Promise<T> {
  try {
    if (!connection.isOpen) throw new DatabaseUnavailable("the connection was lost");
    return await step();
  } catch (error) {
    if (!leavesConnectionWhole(error)) connection.sever();
    throw asStoreError(error);
  }
}

function ignore(): void {}
