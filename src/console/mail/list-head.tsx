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
  words: string;
  search: RefObject<HTMLInputElement | null>;
}

/** Whose list it is, which part of it is shown, and the search in it. */
export function ListHead({ inbox, view, words, search }: ListHeadProps) {
  const here = (shown: View) => href(`inboxes/${inbox.id}`, shown === "all" ? {} : { view: shown });
  function find(event: SubmitEvent) {
    event.preventDefault();
    const asked = search.current?.value.trim() ?? "";
    go(href(`inboxes/${inbox.id}`, asked === "" ? {} : { view: "search", q: asked }));
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
            key={words}
            ref={search}
            type="search"
            name="q"
            defaultValue={words}
            aria-label="Search this inbox"
            placeholder="Search"
            onKeyDown={(event) => {
              if (event.key === "Escape") event.currentTarget.blur();
            }}
          />
        </form>
      </search>
      <nav class="tabs" aria-label="View">
        <a href={here("all")} aria-current={view === "all" ? "page" : undefined}>
          All
        </a>
        <a href={here("unread")} aria-current={view === "unread" ? "page" : undefined}>
          Unread
        </a>
        {view === "search" && (
          <a href={href(`inboxes/${inbox.id}`, { view, q: words })} aria-current="page">
            Found
          </a>
        )}
      </nav>
    </header>
  );
}
