import { inboxd } from "../api.ts";
import { AddForm } from "../parts/add-form.tsx";
import { account } from "../session.ts";

/** Creates an inbox. Without a name, the service chooses one. */
export function NewInbox({ onCreated }: { onCreated: () => void }) {
  return (
    <AddForm
      name="username"
      label="New inbox"
      verb="Create"
      placeholder="name (optional)"
      suffix={`@${account.value?.mailDomain}`}
      add={async (username) => {
        const { address } = await inboxd.inboxes.create(username === "" ? {} : { username });
        onCreated();
        return `${address} is ready for mail`;
      }}
    />
  );
}
