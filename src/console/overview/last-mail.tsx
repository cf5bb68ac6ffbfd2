import { href } from "../address.ts";
import { inboxd, type Schemas } from "../api.ts";
import { useReloadAt } from "../live.ts";
import { Fault } from "../parts/fault.tsx";
import { Icon } from "../parts/icon.tsx";
import { severalAtOnce, useLoaded } from "../parts/loaded.ts";
import { StatusTag } from "../parts/status-tag.tsx";
import { Time } from "../parts/time.tsx";

interface LastMailProps {
  inboxes: readonly Schemas["Inbox"][];
  direction: "inbound" | "outbound";
  title: string;
  nothing: string;
}

const shown = 6;
const mostAsked = 20;

/** The last mails of one direction, of the newest inboxes together. */
export function LastMail({ inboxes, direction, title, nothing }: LastMailProps) {
  const asked = inboxes.slice(0, mostAsked);
  const mails = useLoaded(
    () =>
      lastOf(
        asked.map(({ id }) => id),
        direction,
      ),
    [asked.map(({ id }) => id).join(), direction],
  );
  useReloadAt((event) => event.startsWith("message."), mails.reload);
  return (
    <section class="card" aria-label={title}>
      <header>
        <h2>{title}</h2>
      </header>
      {mails.error !== undefined && <Fault error={mails.error} again={mails.reload} />}
      {mails.value?.length === 0 && <p class="card-nothing">{nothing}</p>}
      <ul class="last-mail">
        {mails.value?.map((mail) => (
          <li key={mail.id}>
            <a href={href(`threads/${mail.threadId}`)}>
              <Icon name={direction === "inbound" ? "in" : "out"} />
              <span class="last-who">{direction === "inbound" ? (mail.fromName ?? mail.fromAddr) : mail.toAddr}</span>
              <span class="last-when">
                <Time at={mail.createdAt} as="short" />
              </span>
              <span class="last-what">{mail.subject || "(no subject)"}</span>
              {direction === "outbound" && mail.status !== "sent" && <StatusTag status={mail.status} />}
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

async function lastOf(ids: readonly string[], direction: "inbound" | "outbound"): Promise<Schemas["ListedMessage"][]> {
  const pages = await severalAtOnce(
    ids.map((id) => () => inboxd.messages.list(id, { direction, limit: shown }).page()),
  );
  return pages
    .flatMap(({ data }) => data)
    .sort((one, other) => (one.createdAt < other.createdAt ? 1 : -1))
    .slice(0, shown);
}
