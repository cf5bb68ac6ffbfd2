import { href, place } from "../address.ts";
import { inboxd, isNotThere, type Schemas } from "../api.ts";
import { lookOf } from "../events/event-words.ts";
import { recentEvents } from "../events/recent-events.ts";
import { useReloadAt } from "../live.ts";
import { toOf } from "../mail/message-view.tsx";
import { Empty } from "../parts/empty.tsx";
import { Fault } from "../parts/fault.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { Page } from "../parts/page.tsx";
import { Placeholder } from "../parts/placeholder.tsx";
import { StatusTag } from "../parts/status-tag.tsx";
import { Steps } from "../parts/steps.tsx";
import { Time } from "../parts/time.tsx";
import { fullTime } from "../words.ts";
import { lifeOf } from "./life.ts";

/** What became of a message. */
export function MessagePage() {
  const id = place.value.path.split("/")[1] ?? "";
  const found = useLoaded(() => findLife(id), [id]);
  useReloadAt((event) => event.startsWith("message."), found.reload);
  if (isNotThere(found.error)) {
    return (
      <Page title="Message">
        <Empty icon="inboxes" title="This message is not there">
          <p>
            It was removed, or belongs to another account. <a href={href("inboxes")}>Go to the inboxes</a>
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
      {found.error !== undefined && <Fault error={found.error} again={found.reload} />}
      {found.isSlow && <Placeholder lines={6} />}
      {message && (
        <>
          <section class="card" aria-labelledby="life">
            <header>
              <h2 id="life">What became of it</h2>
            </header>
            <Steps steps={lifeOf(message, { sentAt, failedAt })} />
          </section>
          <Recipients message={message} />
          {reports.length > 0 && <Reports reports={reports} />}
          <section class="section" aria-labelledby="told-of">
            <h2 id="told-of">Told to your programs</h2>
            {events.length === 0 && <p class="section-nothing">Nothing lately.</p>}
            <ul class="rows">
              {events.map(({ event_id, event, occurred_at }) => (
                <li key={event_id} class="row">
                  <a class="row-link" href={href(`events/${event_id}`)}>
                    <span class="strong">{lookOf(event).words}</span>
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
            <dt>Written</dt>
            <dd>{fullTime(new Date(message.createdAt))}</dd>
          </dl>
        </>
      )}
    </Page>
  );
}

/** Each of several, with what became of him. */
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
      <h2 id="reports">What came back</h2>
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

async function findLife(id: string) {
  const [message, reports, log] = await Promise.all([
    inboxd.messages.get(id),
    inboxd.request("GET", "/v1/messages/{id}/reports", { path: { id } }),
    recentEvents(1),
  ]);
  const events = log.events.filter((event) => event.message?.id === id);
  const at = (kind: string) => events.find(({ event }) => event === kind)?.occurred_at;
  return { message, reports: reports.data, events, sentAt: at("message.sent"), failedAt: at("message.failed") };
}
