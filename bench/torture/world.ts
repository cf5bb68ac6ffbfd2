import type { Chance } from "../../tests/support/chance.ts";
import type { Fleet, Running } from "./fleet.ts";
import { between, closureAt, heardByMs, type Ledger, type LedgerAccount, mayBeClosed } from "./ledger.ts";

/** The shared parts of the drivers. */
export interface World {
  ledger: Ledger;
  fleet: Fleet;
  mailDomain: string;
  accounts: LedgerAccount[];
  operatorKey: string;
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

export interface Asked {
  body?: unknown;
  bytes?: Uint8Array<ArrayBuffer>;
  form?: FormData;
  key?: string;
}

/**
 * One request of an account to a listening process. Rejects without an answer, and while the account is suspended; an answer that no fault
 * explains is a violation.
 */
export async function ask(
  world: World,
  account: LedgerAccount,
  method: string,
  path: string,
  asked: Asked = {},
): Promise<Answer> {
  const running = world.fleet.any();
  if (running === undefined) throw new Error("Nothing listens");
  const sentMs = Date.now();
  const answer = await askAt(world, running, account.apiKey, method, path, asked);
  checkClosure(world.ledger, account, `${method} ${path}`, answer, sentMs);
  if (answer.body.code === "account_suspended") throw new Error("The account is suspended");
  return answer;
}

/** A suspended account gets no answer but its refusal, and an open one never gets that. */
function checkClosure(ledger: Ledger, account: LedgerAccount, about: string, answer: Answer, sentMs: number): void {
  if (answer.body.code === "account_suspended") {
    ledger.count(`suspension: ${answer.body.scope} refused`);
    if (!mayBeClosed(ledger, account, sentMs))
      ledger.violation("P2.4", `${about} of ${account.name}, which is open, was answered ${answer.status}`);
    return;
  }
  const answeredMs = Date.now();
  const closure = closureAt(ledger, account, sentMs, answeredMs);
  const isRefused = closure?.scope === "all" || about.endsWith("/send");
  const answered = `was answered ${answer.status} while it was suspended`;
  if (closure !== undefined && isRefused && answer.status < 300)
    ledger.violation("P2.4", `${about} of ${account.name} ${answered}, ${between(sentMs, answeredMs)}`);
}

/** One request to a process, by any key. */
export async function askAt(
  { ledger }: Pick<World, "ledger">,
  { apiUrl }: Pick<Running, "apiUrl">,
  apiKey: string,
  method: string,
  path: string,
  options: Asked = {},
): Promise<Answer> {
  const response = await fetch(`${apiUrl}/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${apiKey}`,
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
  const shape = path.replace(/(inb|msg|thr|evt|whk|key|acc|dom|rul|qua)_[a-z0-9]+/g, "…").replace(/\?.*/, "");
  ledger.count(`api: ${method} ${shape} ${response.status}`);
  if (response.status === 500) ledger.violation("api", `${method} ${path} was answered 500: ${text.slice(0, 200)}`);
  if (response.status === 503 && !response.headers.has("retry-after")) {
    ledger.violation("api", `${method} ${path} was answered 503 without Retry-After`);
  }
  return { status: response.status, body: text === "" ? {} : JSON.parse(text) };
}

/**
 * Waits until a change that was answered now is heard by all processes, and for longer on a busy machine: ten times as long as a request
 * takes there.
 */
export async function untilHeard(world: World, account: LedgerAccount): Promise<void> {
  const answeredMs = Date.now();
  const { disturbances } = world.ledger;
  // A fault may begin meanwhile.
  while (heardByMs(disturbances, answeredMs) > Date.now()) {
    await Bun.sleep(Math.min(1_000, heardByMs(disturbances, answeredMs) - Date.now()));
    const startedMs = Date.now();
    await Promise.all(
      world.fleet.places.map(async ({ running }) => {
        if (running) await askAt(world, running, account.apiKey, "GET", "/account").catch(() => undefined);
      }),
    );
    await Bun.sleep(Math.min(5_000, 10 * (Date.now() - startedMs)));
  }
}
