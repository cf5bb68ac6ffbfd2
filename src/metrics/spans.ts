import { AsyncLocalStorage } from "node:async_hooks";
import type { SpanName } from "../standards/traceparent.ts";

/** One timed piece of work in a trace, such as a request, or a statement in it. */
export interface Span extends SpanName {
  parentId: string | undefined;
  name: string;
  kind: "internal" | "server" | "client";
  attributes: Record<string, string | number>;
  /** By `performance.now()`, as `endMs`, which is undefined while the work goes on. */
  startMs: number;
  endMs: number | undefined;
  /** The reason why the work failed, without anything of a mail; undefined if it did not. */
  fault: string | undefined;
}

export type NewSpan = Pick<Span, "name"> & Partial<Pick<Span, "kind" | "attributes">>;
export type Tracer = ReturnType<typeof tracer>;

/** Makes spans, and calls `ended` with each that has ended. The current span follows the work through promises and callbacks. */
export function tracer(randomBytes: (length: number) => Uint8Array, ended: (span: Span) => void) {
  const running = new AsyncLocalStorage<Span>();

  /** The span in which the caller works. Undefined if there is none, or if it has ended and this work was only begun in it. */
  function current(): Span | undefined {
    const span = running.getStore();
    return span?.endMs === undefined ? span : undefined;
  }

  /** Does work in a new span below `parent`. Without a parent a trace begins. */
  async function run<T>(about: NewSpan, parent: SpanName | undefined, work: (span: Span) => Promise<T>): Promise<T> {
    const span: Span = {
      kind: "internal",
      attributes: {},
      ...about,
      traceId: parent?.traceId ?? randomBytes(16).toHex(),
      spanId: randomBytes(8).toHex(),
      parentId: parent?.spanId,
      startMs: performance.now(),
      endMs: undefined,
      fault: undefined,
    };
    try {
      return await running.run(span, () => work(span));
    } catch (error) {
      span.fault ??= error instanceof Error ? error.name : "error";
      throw error;
    } finally {
      span.endMs = performance.now();
      ended(span);
    }
  }

  /** Does work in a new span below the current one. Without a current one the work is not recorded. */
  function inside<T>(about: NewSpan, work: () => Promise<T>): Promise<T> {
    const parent = current();
    return parent === undefined ? work() : run(about, parent, work);
  }

  return { current, run, inside };
}
