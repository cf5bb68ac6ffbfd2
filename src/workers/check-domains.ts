import { collectPiledUp } from "../flows/collect-garbage.ts";
import { type CheckDeps, checkDomain } from "../flows/domains/check-domain.ts";
import { claimDueDomains, type Domain, releaseDomains } from "../store/account/domains.ts";

/** The checks of domains in this process. */
export interface DomainChecks {
  /** Claims no more domains, and waits for the checks that run. */
  stop(): Promise<void>;
}

/** The most domains that a process checks at a time. A check waits for name servers nearly all of its time. */
const mostAtOnce = 20;
/** How long other processes leave a claimed domain alone. A check ends within 20 seconds. */
const leaseMs = 60_000;
const tickMs = 1000;
/** Answers of name servers are bytes outside the heap, so thousands of checks would pile up 65 MB before the runtime collects them. */
const mostPiledUpBytes = 8 << 20;

/** Checks domains when they are due. */
export function startDomainChecks(deps: CheckDeps): DomainChecks {
  const running = new Set<Promise<void>>();
  let claiming: Promise<void> = Promise.resolve();
  let isIdle = true;
  /** Whether the last claim found as many domains as it asked for. */
  let mayBeMore = false;
  let isStopping = false;

  async function check(domain: Domain): Promise<void> {
    try {
      await checkDomain(deps, domain);
    } catch (err) {
      deps.log.warn({ err, domain: domain.name }, "cannot check a domain");
      await releaseDomains(deps.db.work, [domain.id]).catch(() => undefined);
    }
  }

  async function claim(): Promise<void> {
    try {
      const limit = mostAtOnce - running.size;
      if (limit <= 0) return;
      const domains = await claimDueDomains(deps.db.work, { now: deps.now(), leaseMs, limit });
      mayBeMore = domains.length === limit;
      for (const domain of domains) {
        const work = check(domain).finally(() => {
          running.delete(work);
          collectPiledUp(mostPiledUpBytes);
          // Thousands of due domains do not wait for the clock: it would let 20 a second through.
          if (mayBeMore && running.size <= mostAtOnce / 2) tick();
        });
        running.add(work);
      }
    } catch (err) {
      deps.log.warn({ err }, "cannot claim domains to check");
    }
  }

  function tick(): void {
    if (!isIdle || isStopping) return;
    isIdle = false;
    claiming = claim().finally(() => {
      isIdle = true;
    });
  }

  const timer = setInterval(tick, tickMs);
  return {
    async stop() {
      isStopping = true;
      clearInterval(timer);
      await claiming;
      await Promise.all(running);
    },
  };
}
