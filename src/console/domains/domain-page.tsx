import { type ComponentChildren, Fragment } from "preact";
import { useEffect, useState } from "preact/hooks";
import { apiHref, go, href, route } from "../address.ts";
import { inboxd, isNotFound } from "../api.ts";
import { formatCount } from "../format.ts";
import { useReloadOn } from "../live.ts";
import { useTick } from "../machine.ts";
import { act } from "../parts/act.ts";
import { useBusy } from "../parts/busy.ts";
import { Confirm } from "../parts/confirm.tsx";
import { Empty } from "../parts/empty.tsx";
import { LoadState } from "../parts/load-state.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { Page } from "../parts/page.tsx";
import { Time } from "../parts/time.tsx";
import { type Domain, DomainState, readinessText } from "./domain-words.tsx";
import { RecordCard } from "./record-card.tsx";

/** One domain: its state, and the DNS records to publish with what was found of each. */
export function DomainPage() {
  const id = route.value.path.split("/")[1] ?? "";
  const found = useLoaded(() => inboxd.domains.get(id), [id]);
  useReloadOn((event) => event.startsWith("domain."), found.reload);
  // A check that changes no status makes no event.
  useTick(found.reload);
  const [asking, setAsking] = useState<"remove" | "rotate" | undefined>(undefined);
  const [isLeaked, setIsLeaked] = useState(false);
  const { isBusy, unlessBusy } = useBusy();
  const domain = found.value;
  const isUnchecked = domain?.checkedAt === null;
  useEffect(() => {
    const timer = isUnchecked ? setInterval(found.reload, 2_000) : undefined;
    return () => clearInterval(timer);
  }, [isUnchecked]);

  const change = (action: () => Promise<string>) => act(action, found.reload);
  const verify = () => change(async () => checkedText(await inboxd.domains.verify(id), domain));
  const remove = () =>
    change(async () => {
      await inboxd.domains.delete(id);
      go(href("domains"), true);
      return "Domain removed";
    });
  const rotate = () =>
    change(async () => {
      await inboxd.domains.rotateDkim(id, isLeaked ? { retireDays: 0 } : {});
      return "New key made. Publish its record beside the first one";
    });
  const allowSubdomains = (subdomains: boolean) =>
    change(async () => {
      await inboxd.domains.change(id, { subdomains });
      return subdomains ? "Inboxes may now have names below the domain" : "Inboxes have no names below the domain";
    });

  if (isNotFound(found.error)) {
    return (
      <Page title="Domain">
        <Empty icon="domains" title="Domain not found">
          <p>
            It was removed. <a href={href("domains")}>Go to the domains</a>
          </p>
        </Empty>
      </Page>
    );
  }
  return (
    <Page
      title={domain?.domain ?? "Domain"}
      about={domain && <DomainState domain={domain} />}
      actions={
        domain &&
        !domain.shared && (
          <>
            <button type="button" class="primary" disabled={isBusy} onClick={() => void unlessBusy(verify)}>
              {isBusy ? "Checking…" : "Verify now"}
            </button>
            <a class="button" href={apiHref(`v1/domains/${id}/zone`)} download={`${domain.domain}.zone`}>
              Zone file
            </a>
            <button type="button" onClick={() => setAsking("rotate")}>
              Rotate key
            </button>
            <button type="button" class="danger" onClick={() => setAsking("remove")}>
              Remove
            </button>
          </>
        )
      }
    >
      <LoadState of={found} lines={8} />
      {domain && <DomainFacts domain={domain} onSubdomains={(subdomains) => void allowSubdomains(subdomains)} />}
      {domain && !domain.shared && (
        <section class="section" aria-labelledby="records">
          <h2 id="records">DNS records</h2>
          <p class="quiet-text">
            Publish them where the DNS of the domain is managed. The DKIM record is required, the others are for
            receiving and for a good reputation.
          </p>
          <ul class="endpoints">
            {domain.records.map((record) => (
              <RecordCard key={`${record.type} ${record.name}`} record={record} />
            ))}
          </ul>
        </section>
      )}
      {asking === "remove" && (
        <Confirm title="Remove this domain?" verb="Remove domain" onDone={(isSure) => answered(isSure, remove)}>
          <p>Its private keys are destroyed. It must have no inboxes any more.</p>
        </Confirm>
      )}
      {asking === "rotate" && (
        <Confirm title="Make a new DKIM key?" verb="Make key" onDone={(isSure) => answered(isSure, rotate)}>
          <p>It signs once its record is found. Keep the old record until this page no longer shows it.</p>
          <label class="check">
            <input type="checkbox" checked={isLeaked} onChange={() => setIsLeaked(!isLeaked)} />
            The old key has leaked: end it at once
          </label>
        </Confirm>
      )}
    </Page>
  );

  function answered(isConfirmed: boolean, action: () => Promise<void>) {
    setAsking(undefined);
    if (isConfirmed) void action();
  }
}

/** The result of a check in words. The service checks a domain at most once in 10 seconds. */
function checkedText({ records, checkedAt }: Domain, before: Domain | undefined): string {
  const valid = records.filter(({ status }) => status === "valid").length;
  const result = `${valid} of ${formatCount(records.length, "record")} valid`;
  return checkedAt === before?.checkedAt ? `Checked just before: ${result}. Try again in 10 seconds` : result;
}

interface DomainFactsProps {
  domain: Domain;
  onSubdomains(subdomains: boolean): void;
}

function DomainFacts({ domain, onSubdomains }: DomainFactsProps) {
  const { shared, inboxCount, subdomains, checkedAt, nextCheckAt, createdAt } = domain;
  const facts: readonly (readonly [name: string, fact: ComponentChildren])[] = [
    ["Mail", readinessText(domain)],
    [
      "Inboxes",
      <a key="inboxes" href={href("inboxes", { domain: domain.domain })}>
        {formatCount(inboxCount, "inbox", "inboxes")}
      </a>,
    ],
    [
      "Subdomains",
      <>
        {subdomains ? "inboxes may have names below it" : "no inboxes below it"}{" "}
        {!shared && (
          <button type="button" class="link" onClick={() => onSubdomains(!subdomains)}>
            {subdomains ? "Stop" : "Allow"}
          </button>
        )}
      </>,
    ],
    [
      "Checked",
      <>
        {checkedAt === null ? "not yet" : <Time at={checkedAt} />}
        {nextCheckAt !== null && (
          <>
            , next <Time at={nextCheckAt} as="due" />
          </>
        )}
      </>,
    ],
    ["Added", <Time key="added" at={createdAt} />],
  ];
  return (
    <dl class="facts">
      {shared && (
        <>
          <dt>Owner</dt>
          <dd>the operator, who shares it with all accounts</dd>
        </>
      )}
      {facts.map(([name, fact]) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd>{fact}</dd>
        </Fragment>
      ))}
    </dl>
  );
}
