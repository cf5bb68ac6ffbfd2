import { href } from "../address.ts";
import { inboxd } from "../api.ts";
import { formatCount } from "../format.ts";
import { newInboxCommand } from "../inboxes/inbox-list.tsx";
import { NewInbox } from "../inboxes/new-inbox.tsx";
import { afterBurst, useReloadOn } from "../live.ts";
import { clock, useTick } from "../machine.ts";
import { dayOf, MailByDay } from "../parts/days-chart.tsx";
import { Empty } from "../parts/empty.tsx";
import { LoadState } from "../parts/load-state.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { Page } from "../parts/page.tsx";
import { account, currentAccount, may, mayMakeInboxes } from "../session.ts";
import { LatestMail } from "./latest-mail.tsx";
import { Needs } from "./needs.tsx";
import { Strip } from "./strip.tsx";

const outboundTexts = {
  sandbox: "Sandbox: outgoing mail is stored here and not delivered",
  relay: "Mail is sent through a relay",
  direct: "Mail is sent directly to the recipients' servers",
} as const;

/** The days of the chart, the last ones of those that `usage` has. */
const chartDays = 14;

/**
 * The first screen: what needs somebody, how mail flows, and the last of it. It opens with four requests beside those for
 * the account and the stream. A burst of events costs one, and each tick of the clock three.
 */
export function Overview() {
  const shown = useLoaded(currentAccount, []);
  const usage = useLoaded(() => inboxd.account.usage(), [dayOf(clock.value)]);
  const stats = useLoaded(() => inboxd.account.stats(), []);
  const webhooks = useLoaded(async () => (may("account") ? inboxd.webhooks.list() : { data: [] }), []);
  useReloadOn((event) => /^(inbox|message|approval)\./.test(event), shown.reload, afterBurst);
  // Usage is counted some seconds behind the mail, so an event would load it too early.
  useTick(() => {
    usage.reload();
    stats.reload();
    webhooks.reload();
  });
  const counts = shown.value?.counts;
  const outbound = outboundTexts[account.value?.outbound ?? "sandbox"];
  if (counts?.inboxes === 0) {
    return (
      <Page title="Overview" about={outbound}>
        {mayMakeInboxes() && <NewInbox onCreated={shown.reload} />}
        <Empty icon="inboxes" title="Create your first inbox" command={newInboxCommand()}>
          <p>
            An inbox is a real address. It can receive and send at once, and notifies your programs by{" "}
            <a href={href("webhooks")}>webhook</a>. Enter a name above, or use a shell:
          </p>
        </Empty>
      </Page>
    );
  }
  return (
    <Page
      title="Overview"
      about={
        <>
          {counts && (
            <>
              <a href={href("inboxes")}>{formatCount(counts.inboxes, "inbox", "inboxes")}</a>
              {" · "}
            </>
          )}
          {outbound}
        </>
      }
    >
      <LoadState of={shown} lines={6} />
      {counts && (
        <>
          <Needs counts={counts} stats={stats.value} endpoints={webhooks.value?.data} />
          <Strip stats={stats.value} />
          <div class="overview-cards">
            <MailByDay used={usage.value?.data.slice(-chartDays)} days={chartDays} until={clock.value} />
            <LatestMail />
          </div>
        </>
      )}
    </Page>
  );
}
