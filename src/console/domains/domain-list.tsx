import { useState } from "preact/hooks";
import { go, href } from "../address.ts";
import { inboxd } from "../api.ts";
import { formatCount } from "../format.ts";
import { useReloadOn } from "../live.ts";
import { AddForm } from "../parts/add-form.tsx";
import { curl } from "../parts/command.tsx";
import { Empty } from "../parts/empty.tsx";
import { LoadState } from "../parts/load-state.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { Page } from "../parts/page.tsx";
import { Pager } from "../parts/pager.tsx";
import { Time } from "../parts/time.tsx";
import { type Domain, DomainState, purposes, readinessText, wrongRecords } from "./domain-words.tsx";

const pageSize = 25;

/** The own domains of the account with what is wrong with them, and the domains that the operator shares. */
export function DomainList() {
  const [offset, setOffset] = useState(0);
  const page = useLoaded(() => inboxd.domains.list({ limit: pageSize, offset }).page(), [offset]);
  useReloadOn((event) => event.startsWith("domain."), page.reload);
  const listed = page.value?.data ?? [];
  return (
    <Page title="Domains" about="Domains for the addresses of your inboxes. Each is proven by a DNS record of its own.">
      <AddForm
        name="domain"
        label="Add a domain"
        verb="Add"
        placeholder="mail.example.com"
        add={async (domain) => {
          const { id, domain: name } = await inboxd.domains.add({ domain });
          go(href(`domains/${id}`));
          return `${name} is added. Publish its DNS records`;
        }}
      />
      <LoadState of={page} />
      {page.value && listed.length === 0 && (
        <Empty
          icon="domains"
          title="No own domains yet"
          command={curl("POST", "v1/domains", '{"domain": "mail.example.com"}')}
        >
          <p>
            With a domain of yours, an inbox can be <code>ada@mail.example.com</code>. Add its name above, publish its
            DNS records, and it is verified within minutes.
          </p>
        </Empty>
      )}
      {listed.length > 0 && (
        <ul class="rows">
          {listed.map((domain) => (
            <DomainRow key={domain.id} domain={domain} />
          ))}
        </ul>
      )}
      <Pager offset={offset} pageSize={pageSize} total={page.value?.total ?? 0} onMove={setOffset} />
    </Page>
  );
}

function DomainRow({ domain }: { domain: Domain }) {
  const { id, domain: name, shared, inboxCount, checkedAt } = domain;
  const [wrong] = wrongRecords(domain);
  return (
    <li class="row">
      <a class="row-link" href={href(`domains/${id}`)}>
        <span class="strong">{name}</span>
        <span class="quiet-text">
          {shared && "shared by the operator · "}
          {formatCount(inboxCount, "inbox", "inboxes")} · {readinessText(domain)}
        </span>
        {wrong && (
          <span class="quiet-text said">
            {purposes[wrong.purpose][0]}: {wrong.hint ?? wrong.status}
          </span>
        )}
      </a>
      <div class="row-state">
        <DomainState domain={domain} />
        <span class="quiet-text">
          {checkedAt === null ? (
            "not checked yet"
          ) : (
            <>
              checked <Time at={checkedAt} />
            </>
          )}
        </span>
      </div>
    </li>
  );
}
