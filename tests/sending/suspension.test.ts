import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { service } from "../../src/domain/access/actor.ts";
import type { Suspension } from "../../src/domain/access/suspension.ts";
import { changeAccount } from "../../src/flows/account/change-account.ts";
import { createAccount } from "../../src/flows/account/manage-accounts.ts";
import { enginesHere } from "../support/engines.ts";
import { mailOf } from "../support/mail.ts";
import { newInbox, send } from "../support/sends.ts";
import { untilAnswered } from "../support/until.ts";
import type { World } from "../support/world.ts";
import { oneWorldOn } from "../support/world-on.ts";

describe.each(enginesHere())("a suspended account (%s)", (engine) => {
  // Nothing listens at the relay, so accepted mail waits for its next attempt.
  const first = oneWorldOn(engine, {
    env: { OUTBOUND: "smtp://127.0.0.1:1", SENDS_PER_MINUTE: "0", SENDS_PER_DAY: "0" },
  });
  /** All processes: three on Postgres; one database directory has one. */
  let worlds: World[] = [];
  let account: { id: string; apiKey: string; inbox: string; address: string };
  beforeAll(async () => {
    worlds = [first(), ...(engine === "embedded" ? [] : [await first().another(), await first().another()])];
    account = await newAccount("suspended");
  }, 60_000);
  afterAll(async () => {
    for (const other of worlds.slice(1)) await other[Symbol.asyncDispose]();
  });

  async function newAccount(name: string) {
    const { deps } = first().service;
    const { account, apiKey } = await createAccount(deps, { name, plan: "enterprise" });
    const inbox = await newInbox(first(), apiKey, `${name}.inbox`);
    return { id: account.id, apiKey, inbox, address: `${name}.inbox@inbox.localhost` };
  }

  const suspend = (suspended: Suspension | null) =>
    changeAccount(first().service.deps, service, account.id, { suspended, reason: "spam" });

  /** The status and scope of a send, the status of a GET, and the reply to a mail, each by a process. */
  async function answersOf(world: World) {
    const { apiKey } = account;
    const sent = await send(world, account.inbox, {}, { apiKey });
    const { status } = await world.api("/v1/inboxes", { apiKey });
    const reply = await world.deliver(mailOf({ subject: "Hello" }), account.address);
    const shown = await world.api("/v1/account", { apiKey });
    return [sent.status, sent.body.scope, status, reply.slice(0, 9), shown.status, shown.body.suspended];
  }

  /** Waits until all processes answer so. */
  async function untilAllAnswer(expected: unknown[]) {
    const startMs = performance.now();
    for (const world of worlds) {
      await untilAnswered(async () => {
        const answers = await answersOf(world);
        if (Bun.deepEquals(answers, expected)) return true;
        // Shows the answers if they do not become as expected.
        if (performance.now() - startMs > 10_000) expect(answers).toEqual(expected);
        return undefined;
      });
    }
  }

  async function attemptsOf(apiKey: string): Promise<number> {
    const { data } = (await first().api("/v1/outbox?kind=relay", { apiKey })).body;
    return data.reduce((sum: number, { attempt }: { attempt: number }) => sum + attempt, 0);
  }

  test("sends no mail, and takes its requests and its mail, until it is open again", async () => {
    const other = await newAccount("other");
    for (const { inbox, apiKey } of [account, other]) {
      expect((await send(first(), inbox, {}, { apiKey })).status).toBe(200);
      await untilAnswered(async () => ((await attemptsOf(apiKey)) === 1 ? true : undefined));
    }
    await suspend("sending");
    await untilAllAnswer([403, "sending", 200, "250 2.0.0", 200, "sending"]);
    const attempts = await attemptsOf(account.apiKey);
    // Accepted mail waits: the mail of another account to the same relay is attempted again, and its own is not.
    first().clock.pass(3_600_000);
    await untilAnswered(async () => ((await attemptsOf(other.apiKey)) > 1 ? true : undefined));
    expect(await attemptsOf(account.apiKey)).toBe(attempts);

    await suspend(null);
    await untilAnswered(async () => ((await attemptsOf(account.apiKey)) > attempts ? true : undefined));
    await untilAllAnswer([200, undefined, 200, "250 2.0.0", 200, null]);
  }, 60_000);

  test.each([
    ["all", [403, "all", 403, "450 4.2.1", 200, "all"]],
    ["moving", [503, undefined, 503, "450 4.2.1", 200, "moving"]],
  ] as const)(
    "takes nothing but GET /v1/account while suspended is %p",
    async (suspended, expected) => {
      await suspend(suspended);
      await untilAllAnswer([...expected]);
      await suspend(null);
      await untilAllAnswer([200, undefined, 200, "250 2.0.0", 200, null]);
    },
    60_000,
  );

  test("takes no mail of another inbox of the service, which waits for it", async () => {
    const other = await newAccount("neighbour");
    await suspend("all");
    await untilAllAnswer([403, "all", 403, "450 4.2.1", 200, "all"]);
    await send(first(), other.inbox, { to: account.address, subject: "Inside" }, { apiKey: other.apiKey });
    const [item] = await untilAnswered(async () => {
      const { data } = (await first().api("/v1/outbox?state=waiting", { apiKey: other.apiKey })).body;
      return data.length === 1 ? data : undefined;
    });
    expect(item.lastError).toContain("4.2.1");
    await suspend(null);
    await untilAllAnswer([200, undefined, 200, "250 2.0.0", 200, null]);
    await first().api(`/v1/outbox/${item.id}/retry`, { method: "POST", apiKey: other.apiKey });
    await untilAnswered(async () => {
      const { data } = (await first().api(`/v1/inboxes/${account.inbox}/messages`, { apiKey: account.apiKey })).body;
      return data.some(({ subject }: { subject: string }) => subject === "Inside") || undefined;
    });
  }, 60_000);
});
