import { href, route } from "../address.ts";
import { inboxd, isNotFound, type Schemas } from "../api.ts";
import { formatFullTime } from "../format.ts";
import { useWriteFrom } from "../frame/keyboard.ts";
import { useReloadOn } from "../live.ts";
import { toOf } from "../mail/message-view.tsx";
import { reasonsOf, VerdictTag } from "../mail/verdict.tsx";
import { Empty } from "../parts/empty.tsx";
import { LoadState } from "../parts/load-state.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { Page } from "../parts/page.tsx";
import { StatusTag } from "../parts/tag.tsx";
import { History } from "./history.tsx";

/** The page of a message: its history, and the copy of each recipient. */
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
  const { message, history } = found.value ?? {};
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
      {message && history && (
        <>
          <section class="card" aria-labelledby="history">
            <header>
              <h2 id="history">History</h2>
            </header>
            <History message={message} entries={history.data} />
          </section>
          <Recipients message={message} />
          <dl class="facts event-facts">
            <dt>Message</dt>
            <dd>
              <code>{message.id}</code>
            </dd>
            <dt>Message-ID</dt>
            <dd>
              <code>{message.rfcMessageId}</code>
            </dd>
            {message.authentication && (
              <>
                <dt>Sender</dt>
                <dd>
                  <VerdictTag authentication={message.authentication} />
                  <div class="quiet-text">{reasonsOf(message.authentication)}</div>
                </dd>
              </>
            )}
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

async function findMessage(id: string) {
  const [message, history] = await Promise.all([inboxd.messages.get(id), inboxd.messages.history(id)]);
  return { message, history };
}
