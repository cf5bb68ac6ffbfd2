import { inboxd } from "../api.ts";
import { AddForm } from "../parts/add-form.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { account, may } from "../session.ts";

/** Creates an inbox at a domain that sends. Without a name, the service chooses one. A whole address may be at any name below a domain. */
export function NewInbox({ onCreated }: { onCreated: () => void }) {
  const own = useLoaded(async () => (may("account") ? usableDomains() : []), []);
  const mailDomain = account.value?.mailDomain ?? "";
  const domains = own.value ?? [];
  return (
    <AddForm
      name="username"
      label="New inbox"
      verb="Create"
      placeholder="name (optional)"
      suffix={
        domains.length === 0 ? (
          `@${mailDomain}`
        ) : (
          <select name="domain" aria-label="Domain">
            {[mailDomain, ...domains].map((domain) => (
              <option key={domain} value={domain}>
                @{domain}
              </option>
            ))}
          </select>
        )
      }
      add={async (name, form) => {
        const [username, ownDomain = String(form.get("domain") ?? mailDomain)] = name.split("@");
        const { address } = await inboxd.inboxes.create({
          username: username || undefined,
          domain: ownDomain === mailDomain ? undefined : ownDomain,
        });
        onCreated();
        return `${address} is ready for mail`;
      }}
    />
  );
}

/** The names of the domains at which inboxes can be made. */
async function usableDomains(): Promise<string[]> {
  const { data } = await inboxd.domains.list({ limit: 100 }).page();
  return data.filter(({ sending }) => sending === "ready").map(({ domain }) => domain);
}
