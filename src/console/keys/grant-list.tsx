import { useState } from "preact/hooks";
import { inboxd, type Schemas } from "../api.ts";
import { act } from "../parts/act.ts";
import { Confirm } from "../parts/confirm.tsx";
import { Icon } from "../parts/icon.tsx";
import { LoadState } from "../parts/load-state.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { CursorPager, useCursors } from "../parts/pager.tsx";
import { Time } from "../parts/time.tsx";
import { reachOf } from "./key-words.ts";

type Grant = Schemas["Grant"];

/** The programs that people have connected by signing in, newest first. Hidden as long as there are none. */
export function GrantList() {
  const cursors = useCursors();
  const { cursor } = cursors;
  const [toEnd, setToEnd] = useState<Grant | undefined>(undefined);
  const page = useLoaded(() => inboxd.grants.list({ cursor, limit: 25 }).page(), [cursor]);
  const listed = page.value?.data ?? [];
  if (listed.length === 0 && cursor === undefined && page.error === undefined) return null;

  const end = ({ id, client }: Grant) =>
    act(async () => {
      await inboxd.grants.delete(id);
      return `${client.name} is disconnected`;
    }, page.reload);

  return (
    <section class="section" aria-labelledby="connected-programs">
      <h2 id="connected-programs">Connected programs</h2>
      <LoadState of={page} />
      <ul class="rows">
        {listed.map((grant) => (
          <GrantRow key={grant.id} of={grant} onEnd={() => setToEnd(grant)} />
        ))}
      </ul>
      <CursorPager cursors={cursors} next={page.value?.nextCursor} />
      {toEnd && (
        <Confirm
          title={`Disconnect ${toEnd.client.name}?`}
          verb="Disconnect"
          onDone={(isConfirmed) => {
            setToEnd(undefined);
            if (isConfirmed) void end(toEnd);
          }}
        >
          <p>The program is refused from now on. It may ask for access again.</p>
        </Confirm>
      )}
    </section>
  );
}

function GrantRow({ of: grant, onEnd }: { of: Grant; onEnd: () => void }) {
  const { client, access, createdAt, lastUsedAt } = grant;
  return (
    <li class="row">
      <div class="row-link">
        <span class="strong">{client.name}</span>
        <span class="quiet-text said">{`${client.host} · ${access} · ${reachOf(grant)}`}</span>
        <span class="quiet-text said">
          connected <Time at={createdAt} /> ·{" "}
          {lastUsedAt === null ? (
            "never used"
          ) : (
            <>
              used <Time at={lastUsedAt} />
            </>
          )}
        </span>
      </div>
      <div class="row-actions">
        <button
          type="button"
          class="quiet small"
          aria-label={`Disconnect ${client.name}`}
          title="Disconnect"
          onClick={onEnd}
        >
          <Icon name="remove" />
        </button>
      </div>
    </li>
  );
}
