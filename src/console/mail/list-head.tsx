import type { RefObject } from "preact";
import { go, href } from "../address.ts";
import type { Schemas } from "../api.ts";
import { CopyButton } from "../parts/command.tsx";
import { Icon } from "../parts/icon.tsx";
import { may } from "../session.ts";

export type View = "all" | "unread" | "search";

interface ListHeadProps {
  inbox: Schemas["Inbox"];
  view: View;
  searchText: string;
  searchField: RefObject<HTMLInputElement | null>;
}

/** The head of a list: the address of its inbox, the search and the views. */
export function ListHead({ inbox, view, searchText, searchField }: ListHeadProps) {
  const viewHref = (shown: View) => href(`inboxes/${inbox.id}`, shown === "all" ? {} : { view: shown });
  function find(event: SubmitEvent) {
    event.preventDefault();
    const text = searchField.current?.value.trim() ?? "";
    go(href(`inboxes/${inbox.id}`, text === "" ? {} : { view: "search", q: text }));
  }
  return (
    <header class="list-head">
      <div class="list-title">
        <h1 title={inbox.address}>{inbox.address}</h1>
        <CopyButton text={inbox.address} what="Copy the address" />
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
        <form class="list-search" onSubmit={find}>
          <Icon name="search" />
          <input
            key={searchText}
            ref={searchField}
            type="search"
            name="q"
            defaultValue={searchText}
            aria-label="Search this inbox"
            placeholder="Search"
            onKeyDown={(event) => {
              if (event.key === "Escape") event.currentTarget.blur();
            }}
          />
        </form>
      </search>
      <nav class="tabs" aria-label="View">
        <a href={viewHref("all")} aria-current={view === "all" ? "page" : undefined}>
          All
        </a>
        <a href={viewHref("unread")} aria-current={view === "unread" ? "page" : undefined}>
          Unread
        </a>
        {view === "search" && (
          <a href={href(`inboxes/${inbox.id}`, { view, q: searchText })} aria-current="page">
            Results
          </a>
        )}
      </nav>
    </header>
  );
}
