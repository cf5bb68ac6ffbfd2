import { href } from "../address.ts";
import { inboxd } from "../api.ts";
import { newInboxCommand } from "../inboxes/inbox-list.tsx";
import { NewInbox } from "../inboxes/new-inbox.tsx";
import { useReloadOn } from "../live.ts";
import { Empty } from "../parts/empty.tsx";
import { LoadState } from "../parts/load-state.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { Page } from "../parts/page.tsx";
import { account, may } from "../session.ts";
import { Figures } from "./figures.tsx";
import { LastMail } from "./last-mail.tsx";
import { MailByDay } from "./mail-by-day.tsx";

const outboundTexts = {
  sandbox: "Sandbox: outgoing mail is stored here and not delivered",
  relay: "Mail is sent through a relay",
  direct: "Mail is sent directly to the recipients' servers",
} as const;

/** The first screen: is there new mail, does mail go out, is anything broken? */
export function Overview() {
  const inboxes = useLoaded(() => inboxd.inboxes.list({ limit: 100 }).page(), []);
  useReloadOn((event) => event.startsWith("inbox.") || event === "message.received", inboxes.reload);
  const listed = inboxes.value?.data ?? [];
  const outbound = account.value?.outbound ?? "sandbox";
  return (
    <Page title="Overview" about={outboundTexts[outbound]}>
      <LoadState of={inboxes} lines={6} />
      {inboxes.value && listed.length === 0 && (
        <>
          {may("manage") && <NewInbox onCreated={inboxes.reload} />}
          <Empty icon="inboxes" title="Create your first inbox" command={newInboxCommand()}>
            <p>
              An inbox is a real address. It can receive and send at once, and notifies your programs by{" "}
              <a href={href("webhooks")}>webhook</a>. Enter a name above, or use a shell:
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
              title={outbound === "sandbox" ? "Sent to the sandbox" : "Sent"}
              nothing={
                outbound === "sandbox"
                  ? "Nothing has been sent yet. In the sandbox, sent mail appears here and is not delivered."
                  : "Nothing has been sent yet."
              }
            />
            <LastMail
              inboxes={listed}
              direction="inbound"
              title="Received"
              nothing={`Nothing has been received yet. Send a mail to ${listed[0]?.address}.`}
            />
          </div>
        </>
      )}
    </Page>
  );
}
