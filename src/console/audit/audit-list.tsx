import { go, href, route } from "../address.ts";
import { inboxd, type Schemas } from "../api.ts";
import { formatFullTime } from "../format.ts";
import { curl } from "../parts/command.tsx";
import { Empty } from "../parts/empty.tsx";
import { LoadState } from "../parts/load-state.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { Page } from "../parts/page.tsx";
import { CursorPager, useCursors } from "../parts/pager.tsx";
import { Time } from "../parts/time.tsx";
import { actions, actorChoices, actorName, detailsText, screenOf } from "./audit-words.ts";

type Entry = Schemas["AuditEntry"];

interface Filter {
  action: string | undefined;
  actor: string | undefined;
  target: string | undefined;
}

/** The changes in the account with their actors, newest first. */
export function AuditList() {
  const { query } = route.value;
  const [action, actor, target] = ["action", "actor", "target"].map((name) => query.get(name) ?? undefined);
  const filter = { action, actor, target };
  return (
    <Page
      title="Audit"
      about="Who changed what, newest first. An entry is written together with its change. Receiving and sending mail leaves none."
    >
      <FilterForm key={`${query}`} filter={filter} />
      {/* A key for each filter, because a cursor is valid only for its filter. */}
      <Entries key={`entries ${query}`} filter={filter} />
    </Page>
  );
}

function show(filter: Filter): void {
  go(href("audit", { ...filter }));
}

function FilterForm({ filter }: { filter: Filter }) {
  const { action = "", actor = "", target = "" } = filter;
  const isKnown = actorChoices.some(([type]) => type === actor);
  return (
    <form
      class="actions audit-filter"
      aria-label="Filter"
      onSubmit={(event) => {
        event.preventDefault();
        show({ ...filter, target: String(new FormData(event.currentTarget).get("target") ?? "").trim() });
      }}
    >
      <select
        aria-label="Action"
        value={action}
        onChange={(event) => show({ ...filter, action: event.currentTarget.value })}
      >
        <option value="">All actions</option>
        {Object.entries(actions).map(([name, words]) => (
          <option key={name} value={name}>
            {words}
          </option>
        ))}
      </select>
      <select
        aria-label="Actor"
        value={actor}
        onChange={(event) => show({ ...filter, actor: event.currentTarget.value })}
      >
        <option value="">By anybody</option>
        {actorChoices.map(([type, words]) => (
          <option key={type} value={type}>
            {words}
          </option>
        ))}
        {actor !== "" && !isKnown && <option value={actor}>By {actor}</option>}
      </select>
      <input
        name="target"
        aria-label="Id of what was changed"
        placeholder="id of what was changed"
        autocomplete="off"
        spellcheck={false}
        defaultValue={target}
      />
      <button type="submit">Filter</button>
      {(action || actor || target) && (
        <button type="button" class="quiet" onClick={() => go(href("audit"))}>
          Show all
        </button>
      )}
    </form>
  );
}

function Entries({ filter }: { filter: Filter }) {
  const cursors = useCursors();
  const { cursor } = cursors;
  const page = useLoaded(() => {
    const { action, ...others } = filter;
    return inboxd.account.audit({ ...others, action: action as Entry["action"], cursor, limit: 50 }).page();
  }, [cursor]);
  const listed = page.value?.data ?? [];
  return (
    <>
      <LoadState of={page} lines={8} />
      {page.value && listed.length === 0 && (
        <Empty icon="audit" title="No such entries" command={curl("GET", "v1/audit")}>
          <p>Entries are kept for a year, unless the operator has set another time. To read them in a shell:</p>
        </Empty>
      )}
      {listed.length > 0 && (
        <ol class="rows">
          {listed.map((entry) => (
            <EntryRow key={entry.id} entry={entry} filter={filter} />
          ))}
        </ol>
      )}
      <CursorPager cursors={cursors} next={page.value?.nextCursor} />
    </>
  );
}

function EntryRow({ entry, filter }: { entry: Entry; filter: Filter }) {
  const { at, action, actor, target, ip, requestId, details } = entry;
  const screen = screenOf(target);
  const more = detailsText(details);
  return (
    <li class="row row-fold">
      <details>
        <summary>
          <span class="strong">{actions[action] ?? action}</span>
          <span class="quiet-text">
            {actorName(actor)}
            {more !== "" && ` · ${more}`}
          </span>
          <span class="event-when">
            <Time at={at} />
          </span>
        </summary>
        <dl class="facts">
          <dt>When</dt>
          <dd>{formatFullTime(new Date(at))}</dd>
          <dt>Who</dt>
          <dd>
            <button
              type="button"
              class="link"
              onClick={() => show({ ...filter, actor: actor.id ?? actor.type })}
              title="Show only what this actor did"
            >
              {actorName(actor)}
            </button>{" "}
            {actor.id !== null && <code>{actor.id}</code>}
            {ip !== null && <> from {ip}</>}
          </dd>
          <dt>What</dt>
          <dd>
            {target.type.replace("_", " ")} {screen ? <a href={href(screen)}>{target.id}</a> : <code>{target.id}</code>}{" "}
            <button
              type="button"
              class="link"
              onClick={() => show({ action: undefined, actor: undefined, target: target.id })}
            >
              all of its entries
            </button>
          </dd>
          {more !== "" && (
            <>
              <dt>Details</dt>
              <dd>{more}</dd>
            </>
          )}
          {requestId !== null && (
            <>
              <dt>Request</dt>
              <dd>
                <code>{requestId}</code>
              </dd>
            </>
          )}
        </dl>
      </details>
    </li>
  );
}
