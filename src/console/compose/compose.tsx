import { place } from "../address.ts";
import { newInboxLine } from "../inboxes/inbox-list.tsx";
import { Empty } from "../parts/empty.tsx";
import { Fault } from "../parts/fault.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { Page } from "../parts/page.tsx";
import { Placeholder } from "../parts/placeholder.tsx";
import { may } from "../session.ts";
import { ComposeForm } from "./compose-form.tsx";
import { purposeOf } from "./purpose.ts";

export function Compose() {
  const { query } = place.value;
  const name = query.toString();
  const purpose = useLoaded(() => purposeOf(query), [name]);
  const { answered, forwarded } = purpose.value ?? {};
  const title = answered ? "Reply" : forwarded ? "Forward" : "New mail";
  return (
    <Page title={title} about={answered?.subject ?? forwarded?.subject}>
      {purpose.error !== undefined && <Fault error={purpose.error} again={purpose.reload} />}
      {purpose.isSlow && <Placeholder lines={6} />}
      {!may("send") && <Fault error={new Error("This key only reads: it can send nothing.")} />}
      {purpose.value?.inboxes.length === 0 && (
        <Empty icon="inboxes" title="An inbox is needed first" command={newInboxLine()}>
          <p>Mail goes out from an inbox, so that answers come back to it.</p>
        </Empty>
      )}
      {may("send") && purpose.value && purpose.value.inboxes.length > 0 && (
        <ComposeForm key={name} name={name} purpose={purpose.value} />
      )}
    </Page>
  );
}
