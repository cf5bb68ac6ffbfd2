import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";
import { go, href } from "../address.ts";
import { inboxd, type Schemas } from "../api.ts";
import { CopyButton } from "../parts/command.tsx";
import { Icon } from "../parts/icon.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { may } from "../session.ts";
import { filings } from "./filing.ts";

/** The tabs of a list, without that of a label or a search. */
const tabs = { inbox: "Inbox", unread: "Unread", archive: "Archive", trash: "Trash" } as const;

export type View = keyof typeof tabs | "label" | "search";

export function isTab(view: string | null): view is keyof typeof tabs {
  return view !== null && Object.hasOwn(tabs, view);
}

interface ListHeadProps {
  inbox: Schemas["Inbox"];
  view: View;
  /** The label of the view; empty for another view. */
  label: string;
  searchText: string;
  searchesAll: boolean;
  searchField: RefObject<HTMLInputElement | null>;
}

/** The head of a list: the address of its inbox, the search and the views. */
export function ListHead({ inbox, view, label, searchText, searchesAll, searchField }: ListHeadProps) {
  const viewHref = (shown: View) => href(`inboxes/${inbox.id}`, shown === "inbox" ? {} : { view: shown });
  const labels = useLoaded(() => inboxd.threads.labels(inbox.id), [inbox.id, filings.value]).value?.data ?? [];
  const [isEverywhere, setEverywhere] = useState(searchesAll);
  useEffect(() => setEverywhere(searchesAll), [searchesAll]);
  const resultsHref = (text: string, isAll: boolean) =>
    href(`inboxes/${inbox.id}`, { view: "search", q: text, ...(isAll && { in: "all" }) });
  function find(isAll: boolean) {
    const text = searchField.current?.value.trim() ?? "";
    go(text === "" ? viewHref("inbox") : resultsHref(text, isAll));
  }
  return (
    <header class="list-head">
      <div class="list-title">
        <h1 title={inbox.address}>{inbox.address}</h1>
        <CopyButton text={inbox.address} what="Copy the address" />
        {may("manage") && (
          <a
            class="button quiet small"
            href={href(`inboxes/${inbox.id}/settings`)}
            aria-label={`Settings of ${inbox.address}`}
            title="Settings"
          >
            <Icon name="settings" />
          </a>
        )}
        {may("send") && (
          <a
            class="button list-write"
            href={href("compose", { inbox: inbox.id })}
            aria-label={`Write from ${inbox.address}`}
            title="Write (c)"
          >
            <Icon name="compose" />
          </a>
        )}
      </div>
      <search>
        <form
          class="list-search"
          onSubmit={(event) => {
            event.preventDefault();
            find(isEverywhere);
          }}
        >
          <Icon name="search" />
          <input
            key={searchText}
            ref={searchField}
            type="search"
            name="q"
            defaultValue={searchText}
            aria-label="Search"
            placeholder="Search"
            title="Words, and from: to: subject: has:attachment is:unread before:2026-03-21 after:"
            onKeyDown={(event) => {
              if (event.key === "Escape") event.currentTarget.blur();
            }}
          />
          <select
            aria-label="Where to search"
            value={isEverywhere ? "all" : "this"}
            onChange={(event) => {
              const isAll = event.currentTarget.value === "all";
              setEverywhere(isAll);
              if (view === "search") find(isAll);
            }}
          >
            <option value="this">This inbox</option>
            <option value="all">All inboxes</option>
          </select>
        </form>
      </search>
      <nav class="tabs" aria-label="View">
        {Object.entries(tabs).map(([tab, name]) => (
          <a key={tab} href={viewHref(tab as View)} aria-current={view === tab ? "page" : undefined}>
            {name}
          </a>
        ))}
        {(labels.length > 0 || label !== "") && (
          <select
            aria-label="Label"
            aria-current={label === "" ? undefined : "page"}
            value={label}
            onChange={(event) => go(href(`inboxes/${inbox.id}`, { label: event.currentTarget.value }))}
          >
            <option value="">Label</option>
            {labels.map(({ label: name, unreadCount }) => (
              <option key={name} value={name}>
                {name}
                {unreadCount > 0 && ` (${unreadCount})`}
              </option>
            ))}
            {label !== "" && labels.every((each) => each.label !== label) && <option value={label}>{label}</option>}
          </select>
        )}
        <datalist id="labels">
          {labels.map(({ label: name }) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        {view === "search" && (
          <a href={resultsHref(searchText, searchesAll)} aria-current="page">
            Results
          </a>
        )}
      </nav>
    </header>
  );
}
