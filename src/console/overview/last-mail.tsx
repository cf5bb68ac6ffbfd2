import { href } from "../address.ts";
import { inboxd, type Schemas } from "../api.ts";
import { useReloadOn } from "../live.ts";
import { Icon } from "../parts/icon.tsx";
import { LoadState } from "../parts/load-state.tsx";
import { mapAtMost, useLoaded } from "../parts/loaded.ts";
import { StatusTag } from "../parts/tag.tsx";
import { Time } from "../parts/time.tsx";

interface LastMailProps {
  inboxes: readonly Schemas["Inbox"][];
  direction: "inbound" | "outbound";
  title: string;
  nothing: string;
}

const shown = 6;
const maxInboxes = 20;

/** The last mails in one direction, of the newest inboxes together. */
export function LastMail({ inboxes, direction, title, nothing }: LastMailProps) {
  const ids = inboxes.slice(0, maxInboxes).map(({ id }) => id);
  const mails = useLoaded(() => lastOf(ids, direction), [ids.join(), direction]);
  useReloadOn((event) => event.startsWith("message."), mails.reload);
  return (
    <section class="card" aria-label={title}>
      <header>
        <h2>{title}</h2>
      </header>
      <LoadState of={mails} />
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
  const pages = await mapAtMost(ids, (id) => inboxd.messages.list(id, { direction, limit: shown }).page());
  return pages
    .flatMap(({ data }) => data)
    .sort((one, other) => (one.createdAt < other.createdAt ? 1 : -1))
    .slice(0, shown);
}
