import { href, route } from "../address.ts";
import { inboxd, isNotFound, type Schemas } from "../api.ts";
import { looks } from "../events/event-look.ts";
import { formatFullTime } from "../format.ts";
import { useWriteFrom } from "../frame/keyboard.ts";
import { useReloadOn } from "../live.ts";
import { toOf } from "../mail/message-view.tsx";
import { Empty } from "../parts/empty.tsx";
import { LoadState } from "../parts/load-state.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { Page } from "../parts/page.tsx";
import { StatusTag } from "../parts/tag.tsx";
import { Time } from "../parts/time.tsx";
import { Steps } from "./steps.tsx";

/** The delivery of a message: its steps, recipients, reports and events. */
export function MessagePage() {
  const id = route.value.path.split("/")[1] ?? "";
  const found = useLoaded(() => findMessage(id), [id]);
  useReloadOn((event) => event.startsWith("message."), found.reload);
  useWriteFrom(found.value?.message.inboxId);
  if (isNotFound(found.error)) {
    return (
      <Page title="Message">
        <Empty icon="inboxes" title="Message not found">
          <p>
            It was deleted, or it belongs to another account. <a href={href("inboxes")}>Go to the inboxes</a>
          </p>
        </Empty>
      </Page>
    );
  }
  const { message, reports = [], events = [], sentAt, failedAt } = found.value ?? {};
  return (
    <Page
      title={message ? message.subject || "(no subject)" : "Message"}
      about={message && `${message.fromAddr} → ${[...toOf(message), ...message.cc].join(", ")}`}
      actions={
        message && (
          <a class="button" href={href(`threads/${message.threadId}`)}>
            Open the conversation
          </a>
        )
      }
    >
      <LoadState of={found} lines={6} />
      {message && (
        <>
          <section class="card" aria-labelledby="status">
            <header>
              <h2 id="status">Status</h2>
            </header>
            <Steps message={message} times={{ sentAt, failedAt }} />
          </section>
          <Recipients message={message} />
          {reports.length > 0 && <Reports reports={reports} />}
          <section class="section" aria-labelledby="message-events">
            <h2 id="message-events">Events</h2>
            {events.length === 0 && <p class="section-nothing">No recent events.</p>}
            <ul class="rows">
              {events.map(({ event_id, event, occurred_at }) => (
                <li key={event_id} class="row">
                  <a class="row-link" href={href(`events/${event_id}`)}>
                    <span class="strong">{looks[event].name}</span>
                    <span class="quiet-text">{event}</span>
                  </a>
                  <span class="row-state quiet-text">
                    <Time at={occurred_at} />
                  </span>
                </li>
              ))}
            </ul>
          </section>
          <dl class="facts event-facts">
            <dt>Message</dt>
            <dd>
              <code>{message.id}</code>
            </dd>
            <dt>Message-ID</dt>
            <dd>
              <code>{message.rfcMessageId}</code>
            </dd>
            <dt>Created</dt>
            <dd>{formatFullTime(new Date(message.createdAt))}</dd>
          </dl>
        </>
      )}
    </Page>
  );
}

/** The status of each recipient, if there are several. */
function Recipients({ message: { recipients } }: { message: Schemas["Message"] }) {
  if (recipients.length < 2) return null;
  return (
    <section class="section" aria-labelledby="recipients">
      <h2 id="recipients">Recipients</h2>
      <ul class="rows">
        {recipients.map(({ address, type, status, failure, delivery }) => (
          <li key={address} class="row">
            <div class="row-link">
              <span class="strong">{address}</span>
              <span class="quiet-text">{failure?.message ?? type}</span>
            </div>
            <span class="row-state">
              <StatusTag status={delivery?.state ?? status} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Reports({ reports }: { reports: readonly Schemas["Report"][] }) {
  return (
    <section class="section" aria-labelledby="reports">
      <h2 id="reports">Reports</h2>
      <ul class="rows">
        {reports.map(({ id, kind, type, recipient, diagnostic, receivedAt }) => (
          <li key={id} class="row">
            <div class="row-link">
              <span class="strong">{recipient ?? "unknown recipient"}</span>
              <span class="quiet-text">{diagnostic ?? ""}</span>
            </div>
            <div class="row-state">
              <StatusTag status={kind} />
              <span class="quiet-text">
                {type !== null && `${type} · `}
                <Time at={receivedAt} />
              </span>
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}

async function findMessage(id: string) {
  const message = await inboxd.messages.get(id);
  const [reports, log] = await Promise.all([
    inboxd.messages.reports(id),
    inboxd.events.list({ types: "*", inbox_id: message.inboxId, order: "desc", limit: 100 }).page(),
  ]);
  const events = log.data.filter((event) => "message" in event && event.message.id === id);
  const at = (type: string) => events.find(({ event }) => event === type)?.occurred_at;
  return { message, reports: reports.data, events, sentAt: at("message.sent"), failedAt: at("message.failed") };
}
