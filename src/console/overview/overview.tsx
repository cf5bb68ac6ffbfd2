import { href } from "../address.ts";
import { inboxd } from "../api.ts";
import { newInboxLine } from "../inboxes/inbox-list.tsx";
import { NewInbox } from "../inboxes/new-inbox.tsx";
import { useReloadAt } from "../live.ts";
import { Empty } from "../parts/empty.tsx";
import { Fault } from "../parts/fault.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { Page } from "../parts/page.tsx";
import { Placeholder } from "../parts/placeholder.tsx";
import { account, may } from "../session.ts";
import { Figures } from "./figures.tsx";
import { LastMail } from "./last-mail.tsx";
import { MailByDay } from "./mail-by-day.tsx";

const routes = {
  sandbox: "Sandbox: mail to others is kept here and goes nowhere",
  relay: "Mail goes out by a relay",
  direct: "Mail goes straight to the recipients' hosts",
} as const;

/** What one wants to know at a glance: is there mail, does it go out, is anything broken. */
export function Overview() {
  const inboxes = useLoaded(() => inboxd.inboxes.list({ limit: 100 }).page(), []);
  useReloadAt((event) => event.startsWith("inbox."), inboxes.reload);
  const listed = inboxes.value?.data ?? [];
  const route = account.value?.outbound ?? "sandbox";
  return (
    <Page title="Overview" about={routes[route]}>
      {inboxes.error !== undefined && <Fault error={inboxes.error} again={inboxes.reload} />}
      {inboxes.isSlow && <Placeholder lines={6} />}
      {inboxes.value && listed.length === 0 && (
        <>
          {may("manage") && <NewInbox onMade={inboxes.reload} />}
          <Empty icon="inboxes" title="Begin with an inbox" command={newInboxLine()}>
            <p>
              An inbox is a real address: it receives at once, sends, and tells your programs by{" "}
              <a href={href("webhooks")}>webhook</a>. Name one above, or make it from a shell:
            </p>
          </Empty>
        </>
      )}
      {inboxes.value && listed.length > 0 && (
        <>
          <Figures inboxes={listed} total={inboxes.value.total} />
          <div class="halves">
            <MailByDay inboxes={listed} total={inboxes.value.total} />
            <LastMail
              inboxes={listed}
              direction="outbound"
              title={route === "sandbox" ? "Would have gone out" : "Went out"}
              nothing={
                route === "sandbox"
                  ? "Nothing has been sent yet. In the sandbox each mail that is sent stands here, and reaches nobody."
                  : "Nothing has been sent yet."
              }
            />
            <LastMail
              inboxes={listed}
              direction="inbound"
              title="Came in"
              nothing={`Nothing has come yet. Send a mail to ${listed[0]?.address}: it is here within a second.`}
            />
          </div>
        </>
      )}
    </Page>
  );
}
