import type { LedgerEndpoint } from "./ledger.ts";
import type { TortureReceiver } from "./receivers.ts";
import { deliveriesOf, untilNothingIsDue } from "./settle.ts";
import { ask, type World } from "./world.ts";

/** The failed endpoints are back: queued events come by themselves, given-up ones are redelivered. */
export async function recoverDead(
  world: World,
  receivers: readonly TortureReceiver[],
  settleMs: number,
): Promise<void> {
  for (const receiver of receivers) await receiver.behave("good");
  const dead = world.ledger.endpoints.filter(({ isDead }) => isDead);
  // A last attempt from the outage is given up a moment later; a redelivery before that does nothing.
  await untilNothingIsDue(world, dead, Date.now() + settleMs);
  await Promise.all(dead.map((endpoint) => recoverAll(world, endpoint)));
  await untilNothingIsDue(world, dead, Date.now() + settleMs);
}

async function recoverAll(world: World, endpoint: LedgerEndpoint): Promise<void> {
  for (const { event_id, attempts } of await deliveriesOf(world, endpoint, "failed"))
    endpoint.recovered.set(event_id, attempts);
  // A second request must not deliver it twice.
  await Promise.all([recover(world, endpoint), recover(world, endpoint)]);
}

/** Recovers page by page. An endpoint that never answered gets one event first, and the others after its answer. */
async function recover(world: World, { id, account, name }: LedgerEndpoint): Promise<void> {
  for (let after = "start", hasMore = true; hasMore; ) {
    const { status, body } = await ask(world, account, "POST", `/webhooks/${id}/recover`, { body: { after } });
    const mustWait = status === 429 || (status === 202 && body.last === null);
    if (mustWait) await Bun.sleep(retryMs);
    else if (status !== 202) return world.ledger.violation("A6", `recovering ${name} was answered ${status}`);
    if (status !== 202) continue;
    world.ledger.count("recovered, as it was answered", Number(body.queued));
    after = body.last === null ? after : String(body.last);
    hasMore = body.hasMore === true;
  }
}

/** Ten recoveries a minute are allowed. */
const retryMs = 6_000;
