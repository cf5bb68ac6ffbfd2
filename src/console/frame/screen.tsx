import { href, place } from "../address.ts";
import { Compose } from "../compose/compose.tsx";
import { EventList } from "../events/event-list.tsx";
import { EventPage } from "../events/event-page.tsx";
import { InboxList } from "../inboxes/inbox-list.tsx";
import { Mail } from "../mail/mail.tsx";
import { MessagePage } from "../message/message-page.tsx";
import { OutboxList } from "../outbox/outbox-list.tsx";
import { Overview } from "../overview/overview.tsx";
import { Empty } from "../parts/empty.tsx";
import { SuppressionList } from "../suppressions/suppression-list.tsx";
import { EndpointList } from "../webhooks/endpoint-list.tsx";
import { EndpointPage } from "../webhooks/endpoint-page.tsx";

/** The screen of an address. */
export function Screen() {
  const [kind = "", id] = place.value.path.split("/");
  if (kind === "" || kind === "login") return <Overview />;
  if (kind === "inboxes" && id === undefined) return <InboxList />;
  if (kind === "inboxes" || kind === "threads") return <Mail />;
  if (kind === "messages" && id !== undefined) return <MessagePage key={id} />;
  if (kind === "compose") return <Compose />;
  if (kind === "outbox") return <OutboxList />;
  if (kind === "events") return id === undefined ? <EventList /> : <EventPage key={id} />;
  if (kind === "webhooks") return id === undefined ? <EndpointList /> : <EndpointPage key={id} />;
  if (kind === "suppressions") return <SuppressionList />;
  return (
    <Empty icon="search" title="Nothing is here">
      <p>
        This address leads nowhere. <a href={href("")}>Go to the overview</a>
      </p>
    </Empty>
  );
}
