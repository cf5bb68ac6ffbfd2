import { href, route } from "../address.ts";
import { AuditList } from "../audit/audit-list.tsx";
import { Compose } from "../compose/compose.tsx";
import { DomainList } from "../domains/domain-list.tsx";
import { DomainPage } from "../domains/domain-page.tsx";
import { EventList } from "../events/event-list.tsx";
import { EventPage } from "../events/event-page.tsx";
import { InboxList } from "../inboxes/inbox-list.tsx";
import { KeyList } from "../keys/key-list.tsx";
import { Mail } from "../mail/mail.tsx";
import { MessagePage } from "../message/message-page.tsx";
import { OutboxList } from "../outbox/outbox-list.tsx";
import { Overview } from "../overview/overview.tsx";
import { Empty } from "../parts/empty.tsx";
import { QuarantineList } from "../quarantine/quarantine-list.tsx";
import { RuleList } from "../rules/rule-list.tsx";
import { may } from "../session.ts";
import { SuppressionList } from "../suppressions/suppression-list.tsx";
import { UsagePage } from "../usage/usage-page.tsx";
import { EndpointList } from "../webhooks/endpoint-list.tsx";
import { EndpointPage } from "../webhooks/endpoint-page.tsx";
import { allScreens, mayOpen } from "./screens.ts";

/** The screen for the current address. A key that can only send sees the inboxes that it can send from. */
export function Screen() {
  const [kind = "", id] = route.value.path.split("/");
  // After signing in, the address of the form shows the first screen.
  const isFirst = kind === "" || kind === "login";
  if ((kind === "inboxes" && id === undefined) || (isFirst && !may("read"))) {
    return <InboxList key={route.value.query.get("domain")} />;
  }
  if (kind === "compose") return <Compose />;
  const entry = allScreens.find(({ path }) => path === kind);
  if (!may("read") || (entry !== undefined && !mayOpen(entry))) return <NotForThisKey />;
  if (isFirst) return <Overview />;
  if (kind === "inboxes" || kind === "threads") return <Mail />;
  if (kind === "messages" && id !== undefined) return <MessagePage key={id} />;
  if (kind === "outbox") return <OutboxList />;
  if (kind === "events") return id === undefined ? <EventList /> : <EventPage key={id} />;
  if (kind === "webhooks") return id === undefined ? <EndpointList /> : <EndpointPage key={id} />;
  if (kind === "suppressions") return <SuppressionList />;
  if (kind === "quarantine") return <QuarantineList />;
  if (kind === "rules") return <RuleList key={route.value.query.get("inbox")} />;
  if (kind === "domains") return id === undefined ? <DomainList /> : <DomainPage key={id} />;
  if (kind === "keys") return <KeyList />;
  if (kind === "usage") return <UsagePage />;
  if (kind === "audit") return <AuditList />;
  return (
    <div class="page">
      <Empty icon="search" title="Page not found">
        <p>
          There is no page at this address. <a href={href("")}>Go to the overview</a>
        </p>
      </Empty>
    </div>
  );
}

function NotForThisKey() {
  return (
    <div class="page">
      {may("read") ? (
        <Empty icon="keys" title="This key may not open this page">
          <p>
            The page needs a key with the access “full”. Most pages about the account also need one that is bound to no
            tenant.
          </p>
        </Empty>
      ) : (
        <Empty icon="compose" title="This key can only send">
          <p>
            It cannot read mail or anything else here. <a href={href("compose")}>Write a mail</a>, or sign in with a key
            that may read.
          </p>
        </Empty>
      )}
    </div>
  );
}
