import type { Schemas } from "../api.ts";
import { curl } from "../parts/curl.ts";
import { Empty } from "../parts/empty.tsx";
import type { View } from "./list-head.tsx";

/** Why there is nothing, which is another thing in each view. */
export function ListEmpty({ inbox, view, words }: { inbox: Schemas["Inbox"]; view: View; words: string }) {
  if (view === "search") {
    return (
      <Empty icon="search" title={words === "" ? "What do you look for?" : `Nothing with “${words}”`}>
        <p>Searched are subject, text, names and addresses of this inbox. Whole words count.</p>
      </Empty>
    );
  }
  if (view === "unread") {
    return (
      <Empty icon="done" title="All is read">
        <p>What comes next shows up here by itself.</p>
      </Empty>
    );
  }
  const mail = `{"to": "${inbox.address}", "subject": "Hello", "body": "Is anybody there?"}`;
  const line = curl("POST", `v1/inboxes/${inbox.id}/send`, mail).replace(
    '-H "Content-Type',
    '-H "Idempotency-Key: hello-1" \\\n  -H "Content-Type',
  );
  return (
    <Empty icon="inboxes" title="No mail yet" command={line}>
      <p>Send it a mail from anywhere, or by this line from itself: it stands here within a second.</p>
    </Empty>
  );
}
