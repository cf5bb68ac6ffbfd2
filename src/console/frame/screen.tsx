import { href, place } from "../address.ts";
import { InboxList } from "../inboxes/inbox-list.tsx";
import { Mail } from "../mail/mail.tsx";
import { Overview } from "../overview/overview.tsx";
import { Empty } from "../parts/empty.tsx";

/** The screen of an address. */
export function Screen() {
  const [kind = "", id] = place.value.path.split("/");
  if (kind === "" || kind === "login") return <Overview />;
  if (kind === "inboxes" && id === undefined) return <InboxList />;
  if (kind === "inboxes" || kind === "threads") return <Mail />;
  return (
    <Empty icon="search" title="Nothing is here">
      <p>
        This address leads nowhere. <a href={href("")}>Go to the overview</a>
      </p>
    </Empty>
  );
}
