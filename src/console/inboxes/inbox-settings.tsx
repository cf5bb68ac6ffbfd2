import { useState } from "preact/hooks";
import { go, href, route } from "../address.ts";
import { errorText, inboxd, isNotFound, type Schemas } from "../api.ts";
import { localTime } from "../format.ts";
import { notify } from "../frame/notice.tsx";
import { act } from "../parts/act.ts";
import { AddForm } from "../parts/add-form.tsx";
import { useBusy } from "../parts/busy.ts";
import { Confirm } from "../parts/confirm.tsx";
import { Empty } from "../parts/empty.tsx";
import { Icon } from "../parts/icon.tsx";
import { LoadState } from "../parts/load-state.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { Page } from "../parts/page.tsx";
import { Tag } from "../parts/tag.tsx";

type Inbox = Schemas["Inbox"];

/** The settings of one inbox: its fields, its aliases, and whether it is disabled. */
export function InboxSettings() {
  const id = route.value.path.split("/")[1] ?? "";
  const found = useLoaded(() => inboxd.inboxes.get(id), [id]);
  const [asking, setAsking] = useState<"disable" | "delete" | undefined>(undefined);
  const { isBusy, unlessBusy } = useBusy();
  const inbox = found.value;

  const setDisabled = (disabled: boolean) =>
    act(async () => {
      await inboxd.inboxes.change(id, { disabled });
      return disabled ? "The inbox is disabled" : "The inbox is enabled";
    }, found.reload);
  const remove = () =>
    act(async () => {
      await inboxd.inboxes.delete(id);
      go(href("inboxes"), true);
      return `${inbox?.address} is deleted`;
    }, found.reload);

  if (isNotFound(found.error)) {
    return (
      <Page title="Inbox">
        <Empty icon="inboxes" title="Inbox not found">
          <p>It was deleted, or it belongs to another account.</p>
        </Empty>
      </Page>
    );
  }
  return (
    <Page
      title={inbox?.address ?? "Inbox"}
      about={
        <>
          {inbox?.disabled && <Tag tone="bad">disabled</Tag>} <a href={href(`inboxes/${id}`)}>Mail</a> ·{" "}
          <a href={href("rules", { inbox: id })}>Rules and policy</a>
        </>
      }
      actions={
        inbox && (
          <>
            <button
              type="button"
              disabled={isBusy}
              onClick={() => (inbox.disabled ? void unlessBusy(() => setDisabled(false)) : setAsking("disable"))}
            >
              {inbox.disabled ? "Enable" : "Disable"}
            </button>
            <button type="button" class="danger" onClick={() => setAsking("delete")}>
              Delete
            </button>
          </>
        )
      }
    >
      <LoadState of={found} lines={8} />
      {inbox && <SettingsForm key={inbox.updatedAt} inbox={inbox} onSaved={found.reload} />}
      {inbox && <Aliases inbox={inbox} onChanged={found.reload} />}
      {asking === "disable" && (
        <Confirm
          title="Disable this inbox?"
          verb="Disable inbox"
          onDone={(isSure) => {
            setAsking(undefined);
            if (isSure) void unlessBusy(() => setDisabled(true));
          }}
        >
          <p>Mail to it is refused, and it sends nothing new. Its mail stays, and it can be enabled again.</p>
        </Confirm>
      )}
      {asking === "delete" && (
        <Confirm
          title={`Delete ${inbox?.address}?`}
          verb="Delete inbox"
          onDone={(isSure) => {
            setAsking(undefined);
            if (isSure) void unlessBusy(remove);
          }}
        >
          <p>All of its mail is deleted too, and the address stops receiving mail. This cannot be undone.</p>
        </Confirm>
      )}
    </Page>
  );
}

function SettingsForm({ inbox, onSaved }: { inbox: Inbox; onSaved: () => void }) {
  const { isBusy, unlessBusy } = useBusy();
  const [fault, setFault] = useState<string | undefined>(undefined);

  async function save(form: FormData) {
    try {
      await inboxd.inboxes.change(inbox.id, changeOf(inbox, form));
      notify("The settings are saved");
      setFault(undefined);
      onSaved();
    } catch (error) {
      setFault(errorText(error));
    }
  }

  return (
    <form
      class="inbox-settings"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        const form = new FormData(event.currentTarget);
        void unlessBusy(() => save(form));
      }}
    >
      <label for="displayName">Name beside the address</label>
      <input id="displayName" name="displayName" autocomplete="off" defaultValue={inbox.displayName ?? ""} />
      <label for="externalId">Your id of the owner</label>
      <input id="externalId" name="externalId" autocomplete="off" defaultValue={inbox.externalId ?? ""} />
      <label for="retentionDays">Days that mail is kept</label>
      <input
        id="retentionDays"
        name="retentionDays"
        type="number"
        min="1"
        max="3650"
        placeholder="as in the account"
        defaultValue={inbox.retentionDays?.toString() ?? ""}
      />
      <label for="searchWords">Words of new mail that a search finds</label>
      <select id="searchWords" name="searchWords">
        {wordChoices.map(([words, text]) => (
          <option key={words} value={words} selected={words === (inbox.searchWords ?? "")}>
            {text}
          </option>
        ))}
      </select>
      <label for="expiresAt">Is deleted at</label>
      <input id="expiresAt" name="expiresAt" type="datetime-local" defaultValue={endText(inbox)} />
      <label for="approvers">Approvers of its mail, by email address</label>
      <input
        id="approvers"
        name="approvers"
        autocomplete="off"
        spellcheck={false}
        placeholder="as in the service"
        defaultValue={inbox.approvers?.join(", ") ?? ""}
      />
      <label for="metadata">Metadata, a line for each key=value</label>
      <textarea id="metadata" name="metadata" rows={3} spellcheck={false} defaultValue={metadataText(inbox)} />
      <div class="actions">
        <button type="submit" disabled={isBusy}>
          Save
        </button>
      </div>
      <p class="field-fault" role="alert">
        {fault}
      </p>
    </form>
  );
}

const wordChoices = [
  ["", "as in the account"],
  ["all", "all words"],
  ["head", "subject and addresses"],
  ["off", "none"],
] as const;

/** The fields that differ from those of the inbox, so that a change of another one meanwhile stays. */
function changeOf(inbox: Inbox, form: FormData): Schemas["InboxChange"] {
  const entered = (name: string) => String(form.get(name) ?? "").trim();
  const orNull = (name: string) => entered(name) || null;
  const change: Schemas["InboxChange"] = {};
  if (orNull("displayName") !== inbox.displayName) change.displayName = orNull("displayName");
  if (orNull("externalId") !== inbox.externalId) change.externalId = orNull("externalId");
  const days = entered("retentionDays");
  if (days !== (inbox.retentionDays?.toString() ?? "")) change.retentionDays = days === "" ? null : Number(days);
  const words = entered("searchWords");
  if (words !== (inbox.searchWords ?? "")) change.searchWords = (words || null) as Inbox["searchWords"];
  const end = entered("expiresAt");
  if (end !== endText(inbox)) change.expiresAt = end === "" ? null : new Date(end).toISOString();
  const approvers = entered("approvers");
  if (approvers !== (inbox.approvers?.join(", ") ?? ""))
    change.approvers = approvers === "" ? null : approvers.split(/[\s,]+/).filter(Boolean);
  const metadata = Object.fromEntries(linesOf(entered("metadata")));
  const removed = Object.keys(inbox.metadata).filter((key) => !(key in metadata));
  if (entered("metadata") !== metadataText(inbox))
    change.metadata = { ...metadata, ...Object.fromEntries(removed.map((key) => [key, null])) };
  return change;
}

function linesOf(text: string): [key: string, value: string][] {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines.map((line) => {
    const [key = "", ...value] = line.split("=");
    return [key.trim(), value.join("=").trim()];
  });
}

function metadataText({ metadata }: Inbox): string {
  return Object.entries(metadata)
    .map(([key, value]) => `${key}=${value}`)
    .join("\n");
}

function endText({ expiresAt }: Inbox): string {
  return expiresAt === null ? "" : localTime(new Date(expiresAt));
}

function Aliases({ inbox, onChanged }: { inbox: Inbox; onChanged: () => void }) {
  const [toRemove, setToRemove] = useState<string | undefined>(undefined);
  const domain = inbox.address.slice(inbox.address.lastIndexOf("@"));

  const remove = (alias: string) =>
    act(async () => {
      await inboxd.inboxes.removeAlias(inbox.id, alias);
      return `${alias} is removed`;
    }, onChanged);

  return (
    <section class="section" aria-labelledby="aliases">
      <h2 id="aliases">Aliases</h2>
      <p class="quiet-text">
        Other addresses of the inbox. Mail to them comes here, and answers to it go out from them.
      </p>
      <AddForm
        name="alias"
        label="Add an alias"
        verb="Add"
        placeholder="sales"
        suffix={domain}
        add={async (alias) => {
          if (alias === "") throw new Error("Enter a name");
          await inboxd.inboxes.addAlias(inbox.id, alias);
          onChanged();
          return `Mail to ${alias}${domain} now comes here`;
        }}
      />
      {inbox.aliases.length > 0 && (
        <ul class="rows">
          {inbox.aliases.map((alias) => (
            <li key={alias} class="row">
              <div class="row-link">
                <span class="strong">{alias}</span>
              </div>
              <button
                type="button"
                class="quiet small"
                aria-label={`Remove ${alias}`}
                title="Remove"
                onClick={() => setToRemove(alias)}
              >
                <Icon name="remove" />
              </button>
            </li>
          ))}
        </ul>
      )}
      {toRemove !== undefined && (
        <Confirm
          title={`Remove ${toRemove}?`}
          verb="Remove"
          onDone={(isSure) => {
            setToRemove(undefined);
            if (isSure) void remove(toRemove);
          }}
        >
          <p>Mail to it is refused from then on. Mail that came to it stays.</p>
        </Confirm>
      )}
    </section>
  );
}
