import { Fragment } from "preact";
import { inboxd, type Schemas } from "../api.ts";
import { formatNumber, formatSize } from "../format.ts";
import { useLoaded } from "../parts/loaded.ts";
import { account, may } from "../session.ts";

interface Quota {
  name: string;
  limit: number;
  /** Undefined if the limit is for each of several things, so that there is no one sum, or if the key may not count them. */
  used?: number | undefined;
  format?: (value: number) => string;
}

/** The quotas of the account with what is used of each, and its limits. */
export function Quotas({ current }: { current: Schemas["Usage"]["current"] }) {
  const limits = account.value?.limits;
  const domains = useLoaded(async () => (may("account") ? countOwnDomains() : undefined), []);
  if (limits === undefined) return null;
  const quotas: readonly Quota[] = [
    { name: "Inboxes", limit: limits.inboxes, used: current.inboxes },
    { name: "Own domains", limit: limits.domains, used: domains.value },
    { name: "Mail of the account", limit: limits.storageBytes, used: current.storageBytes, format: formatSize },
    { name: "Mail of an inbox", limit: limits.inboxBytes, format: formatSize },
    { name: "Sends of an inbox in a minute", limit: limits.sendsPerMinute },
    { name: "Mails to an inbox in a minute", limit: limits.receivesPerMinute },
    { name: "Sends of an inbox in a day", limit: limits.sendsPerDay },
    { name: "New inboxes in a day", limit: limits.inboxesPerDay },
  ];
  return (
    <section class="section" aria-labelledby="quotas">
      <h2 id="quotas">Quotas and limits</h2>
      <dl class="facts quotas">
        {quotas.map(({ name, limit, used, format = formatNumber }) => (
          <Fragment key={name}>
            <dt>{name}</dt>
            <dd class="number">
              {used !== undefined && `${format(used)}${limit === 0 ? ", " : " of "}`}
              {limit === 0 ? "no limit" : format(limit)}
              {used !== undefined && limit > 0 && (
                <meter aria-label={name} value={used} max={limit} high={0.8 * limit} optimum={0} />
              )}
            </dd>
          </Fragment>
        ))}
      </dl>
    </section>
  );
}

/** Those of the first 100: an account rarely has more, and shared ones are listed last. */
async function countOwnDomains(): Promise<number> {
  const { data } = await inboxd.domains.list({ limit: 100 }).page();
  return data.filter(({ shared }) => !shared).length;
}
