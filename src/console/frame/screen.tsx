import { href, type Route, route } from "../address.ts";
import { Empty } from "../parts/empty.tsx";
import { may } from "../session.ts";
import { type LazyScreen, lazy } from "./lazy.tsx";
import { allScreens, mayOpen } from "./screens.ts";

const overview = lazy(async () => (await import("../overview/overview.tsx")).Overview);
const inboxList = lazy(async () => (await import("../inboxes/inbox-list.tsx")).InboxList);
const inboxSettings = lazy(async () => (await import("../inboxes/inbox-settings.tsx")).InboxSettings);
const mail = lazy(async () => (await import("../mail/mail.tsx")).Mail);
const messagePage = lazy(async () => (await import("../message/message-page.tsx")).MessagePage);
const compose = lazy(async () => (await import("../compose/compose.tsx")).Compose);
const draftList = lazy(async () => (await import("../drafts/draft-list.tsx")).DraftList);
const approvalList = lazy(async () => (await import("../approvals/approval-list.tsx")).ApprovalList);
const outboxList = lazy(async () => (await import("../outbox/outbox-list.tsx")).OutboxList);
const eventList = lazy(async () => (await import("../events/event-list.tsx")).EventList);
const eventPage = lazy(async () => (await import("../events/event-page.tsx")).EventPage);
const endpointList = lazy(async () => (await import("../webhooks/endpoint-list.tsx")).EndpointList);
const endpointPage = lazy(async () => (await import("../webhooks/endpoint-page.tsx")).EndpointPage);
const suppressionList = lazy(async () => (await import("../suppressions/suppression-list.tsx")).SuppressionList);
const ruleList = lazy(async () => (await import("../rules/rule-list.tsx")).RuleList);
const quarantineList = lazy(async () => (await import("../quarantine/quarantine-list.tsx")).QuarantineList);
const domainList = lazy(async () => (await import("../domains/domain-list.tsx")).DomainList);
const domainPage = lazy(async () => (await import("../domains/domain-page.tsx")).DomainPage);
const keyList = lazy(async () => (await import("../keys/key-list.tsx")).KeyList);
const usagePage = lazy(async () => (await import("../usage/usage-page.tsx")).UsagePage);
const auditList = lazy(async () => (await import("../audit/audit-list.tsx")).AuditList);

/** The screen at an address, and the thing that it is about: for another one the screen begins anew. */
function screenAt({ path, query }: Route): readonly [screen: LazyScreen, about?: string | null] | undefined {
  const [kind, id, part] = path.split("/");
  switch (kind) {
    case "":
    // After signing in, the address of the form shows the first screen.
    case "login":
      return may("send") && !may("read") ? [inboxList] : [overview];
    case "inboxes":
      if (part === "settings") return [inboxSettings, id ?? null];
      return id === undefined ? [inboxList, query.get("domain")] : [mail];
    case "threads":
      return [mail];
    case "messages":
      return id === undefined ? undefined : [messagePage, id];
    case "compose":
      return [compose];
    case "drafts":
      return [draftList];
    case "approvals":
      return [approvalList];
    case "outbox":
      return [outboxList];
    case "events":
      return id === undefined ? [eventList] : [eventPage, id];
    case "webhooks":
      return id === undefined ? [endpointList] : [endpointPage, id];
    case "suppressions":
      return [suppressionList];
    case "rules":
      return [ruleList, query.get("inbox")];
    case "quarantine":
      return [quarantineList];
    case "domains":
      return id === undefined ? [domainList] : [domainPage, id];
    case "keys":
      return [keyList];
    case "usage":
      return [usagePage];
    case "audit":
      return [auditList];
    default:
      return undefined;
  }
}

/** Begins to load the code of the screen at an address. If that fails, the screen tries again once it is open. */
export function prepareScreen(at: Route): void {
  screenAt(at)?.[0]
    .prepare()
    .catch(() => {});
}

/** The screen for the current address. A key that can only send sees the inboxes that it can send from. */
export function Screen() {
  const [screen, about] = screenAt(route.value) ?? [];
  const entry = allScreens.find(({ path }) => path === route.value.path.split("/")[0]);
  const isForSender = screen === inboxList || screen === compose;
  if (!isForSender && (!may("read") || (entry !== undefined && !mayOpen(entry)))) return <NotForThisKey />;
  if (screen === inboxSettings && !may("manage")) return <NotForThisKey />;
  if (screen !== undefined) return <screen.Screen key={about} />;
  return (
    <div class="page">
      <Empty icon="search" title="Page not found">
        <p>
          There is no page at this address. <a href={href("")}>Go to the overview</a>
        </p>
      </Empty>
    </div>
  );
}

function NotForThisKey() {
  return (
    <div class="page">
      {may("read") ? (
        <Empty icon="keys" title="This key may not open this page">
          <p>
            The page needs a key with the access “full”. Most pages about the account also need one that is bound to no
            tenant.
          </p>
        </Empty>
      ) : (
        <Empty icon="compose" title="This key can only send">
          <p>
            It cannot read mail or anything else here. <a href={href("compose")}>Write a mail</a>, or sign in with a key
            that may read.
          </p>
        </Empty>
      )}
    </div>
  );
}
