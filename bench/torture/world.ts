import type { Chance } from "../../tests/support/chance.ts";
import type { Fleet } from "./fleet.ts";
import type { Ledger, LedgerAccount } from "./ledger.ts";

/** The shared parts of the drivers. */
export interface World {
  ledger: Ledger;
  fleet: Fleet;
  mailDomain: string;
  accounts: LedgerAccount[];
  senderNames: readonly string[];
  /** No new work may start; started work is finished. */
  isDraining: boolean;
  /** No driver retries any more. */
  isOver: boolean;
}

/** One unit of work, finished despite all faults. */
export type Driver = () => Promise<void>;

/** Works until the drain, with pauses that keep the load moderate. */
export async function drive(world: World, chance: Chance, driver: Driver, mostPauseMs: number): Promise<void> {
  while (!world.isDraining) {
    try {
      await driver();
    } catch (error) {
      world.ledger.violation("driver", error instanceof Error ? (error.stack ?? error.message) : String(error));
    }
    await Bun.sleep(chance.whole(0, mostPauseMs));
  }
}

/** Retries until nothing is left to do. */
export async function eventually(world: World, chance: Chance, attempt: () => Promise<boolean>): Promise<void> {
  for (let pauseMs = 100; !world.isOver; pauseMs = Math.min(1500, pauseMs * 2)) {
    try {
      if (await attempt()) return;
    } catch {
      // No answer, or a request to retry; the ledger has its possible effects.
    }
    world.ledger.count("tried again");
    await Bun.sleep(pauseMs + chance.whole(0, 100));
  }
}

export interface Answer {
  status: number;
  body: Record<string, unknown>;
}

/** One request to a listening process. Rejects without an answer; an answer that no fault explains is a violation. */
export async function ask(
  world: World,
  account: LedgerAccount,
  method: string,
  path: string,
  options: { body?: unknown; bytes?: Uint8Array<ArrayBuffer>; form?: FormData; key?: string } = {},
): Promise<Answer> {
  const running = world.fleet.any();
  if (running === undefined) throw new Error("Nothing listens");
  const response = await fetch(`${running.apiUrl}/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${account.apiKey}`,
      // A form has its own boundary in its content type.
      ...(options.form === undefined && {
        "content-type": options.bytes === undefined ? "application/json" : "application/octet-stream",
      }),
      ...(options.key !== undefined && { "idempotency-key": options.key }),
    },
    ...(options.body !== undefined && { body: JSON.stringify(options.body) }),
    ...(options.bytes !== undefined && { body: options.bytes }),
    ...(options.form !== undefined && { body: options.form }),
    signal: AbortSignal.timeout(10_000),
  });
  const text = await response.text();
  world.ledger.count(
    `api: ${method} ${path.replace(/(inb|msg|thr|evt|whk)_[a-z0-9]+/g, "…").replace(/\?.*/, "")} ${response.status}`,
  );
  if (response.status === 500)
    world.ledger.violation("api", `${method} ${path} was answered 500: ${text.slice(0, 200)}`);
  if (response.status === 503 && !response.headers.has("retry-after")) {
    world.ledger.violation("api", `${method} ${path} was answered 503 without Retry-After`);
  }
  return { status: response.status, body: text === "" ? {} : JSON.parse(text) };
}
