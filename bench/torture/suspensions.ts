import type { Chance } from "../../tests/support/chance.ts";
import type { LedgerAccount, LedgerClosure } from "./ledger.ts";
import { askAt, type Driver, eventually, untilHeard, type World } from "./world.ts";

/** An operator that suspends an account, and ends that a little later. */
export function operator(world: World, chance: Chance, account: LedgerAccount): Driver {
  const { ledger } = world;

  return async function suspendOnce() {
    await Bun.sleep(chance.whole(1000, 5000));
    const unknown = Number.POSITIVE_INFINITY;
    const scope = chance.pick(["sending", "all"] as const);
    const closure: LedgerClosure = {
      account,
      scope,
      askedMs: Date.now(),
      inForceMs: unknown,
      liftAskedMs: unknown,
      overMs: unknown,
    };
    ledger.closures.push(closure);
    await change(scope);
    await untilHeard(world, witness());
    closure.inForceMs = Date.now();
    ledger.count(`suspension: ${scope}`);
    await Bun.sleep(chance.whole(500, 3000));
    closure.liftAskedMs = Date.now();
    await change(null);
    await untilHeard(world, witness());
    closure.overMs = Date.now();
  };

  /** Another account, which is open. */
  function witness(): LedgerAccount {
    return world.accounts.find((each) => each !== account) ?? account;
  }

  async function change(suspended: LedgerClosure["scope"] | null): Promise<void> {
    const path = `/admin/accounts/${account.id}`;
    const body = { suspended, reason: "torture" };
    await eventually(world, chance, async () => {
      const running = world.fleet.any();
      if (running === undefined) return false;
      const answer = await askAt(world, running, world.operatorKey, "PATCH", path, { body });
      if (answer.status !== 200 && answer.status !== 503)
        ledger.violation("api", `the suspension of ${account.name} was answered ${answer.status}`);
      return answer.status === 200;
    });
  }
}
