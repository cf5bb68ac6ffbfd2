import { useState } from "preact/hooks";
import { inboxd, type Schemas } from "../api.ts";
import { now } from "../machine.ts";
import { act } from "../parts/act.ts";
import { Command, curl } from "../parts/command.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { Icon } from "../parts/icon.tsx";
import { LoadState } from "../parts/load-state.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { Page } from "../parts/page.tsx";
import { Pager } from "../parts/pager.tsx";
import { Tag } from "../parts/tag.tsx";
import { Time } from "../parts/time.tsx";
import { account } from "../session.ts";
import { GrantList } from "./grant-list.tsx";
import { reachOf } from "./key-words.ts";

type Key = Schemas["Key"];

const pageSize = 25;

/** The keys within the reach of the session's key, newest first, and the commands that create and rotate keys. */
export function KeyList() {
  const [offset, setOffset] = useState(0);
  const [toRevoke, setToRevoke] = useState<Key | undefined>(undefined);
  const page = useLoaded(() => inboxd.keys.list({ limit: pageSize, offset }).page(), [offset]);

  const revoke = (key: Key) =>
    act(async () => {
      await inboxd.keys.revoke(key.id);
      return `${nameOf(key)} is revoked`;
    }, page.reload);

  return (
    <Page title="Keys" about="API keys, each with an access and a reach.">
      <LoadState of={page} />
      <ul class="rows">
        {page.value?.data.map((key) => (
          <KeyRow key={key.id} of={key} onRevoke={() => setToRevoke(key)} />
        ))}
      </ul>
      <Pager offset={offset} pageSize={pageSize} total={page.value?.total ?? 0} onMove={setOffset} />
      <GrantList />
      <KeyCommands />
      {toRevoke && (
        <Confirm
          title={`Revoke ${nameOf(toRevoke)}?`}
          verb="Revoke key"
          onDone={(isConfirmed) => {
            setToRevoke(undefined);
            if (isConfirmed) void revoke(toRevoke);
          }}
        >
          <p>
            Programs with this key are refused from now on, and its tokens and console sessions end.
            {toRevoke.id === account.value?.key.id && " You are signed in with this key, so this session ends too."}
          </p>
        </Confirm>
      )}
    </Page>
  );
}

function KeyRow({ of: key, onRevoke }: { of: Key; onRevoke: () => void }) {
  const { id, name, access, allowedIps, createdAt, lastUsedAt, expiresAt, revokedAt } = key;
  const isExpired = expiresAt !== null && new Date(expiresAt) <= now();
  return (
    <li class="row">
      <div class="row-link">
        <span class="strong">{nameOf(key)}</span>
        <span class="quiet-text said">
          {name !== null && `${endsOf(key)} · `}
          {`${access} · ${reachOf(key)} · from ${allowedIps.join(", ") || "any address"}`}
        </span>
        <span class="quiet-text said">
          <code>{id}</code> ·{" "}
          {lastUsedAt === null ? (
            "never used"
          ) : (
            <>
              used <Time at={lastUsedAt} />
            </>
          )}
        </span>
        <span class="quiet-text said">
          created <Time at={createdAt} /> by {creatorOf(key)}
        </span>
      </div>
      <div class="row-state">
        <Tag tone={revokedAt !== null || isExpired ? "bad" : "good"}>
          {revokedAt !== null ? "revoked" : isExpired ? "expired" : "valid"}
        </Tag>
        <span class="quiet-text">
          {revokedAt !== null ? (
            <Time at={revokedAt} />
          ) : expiresAt === null ? (
            "no end"
          ) : (
            <>
              {isExpired ? "since" : "until"} <Time at={expiresAt} as="short" />
            </>
          )}
        </span>
      </div>
      {revokedAt === null && (
        <div class="row-actions">
          <button
            type="button"
            class="quiet small"
            aria-label={`Revoke ${nameOf(key)}`}
            title="Revoke"
            onClick={onRevoke}
          >
            <Icon name="remove" />
          </button>
        </div>
      )}
    </li>
  );
}

/** The commands that create and rotate keys: a session may do neither, because such a key would outlive it. */
function KeyCommands() {
  const tenant = account.value?.key.externalId;
  const options = ` --account ${shellWord(account.value?.name ?? "")}${tenant ? ` --external-id ${shellWord(tenant)}` : ""}`;
  return (
    <section class="section" aria-labelledby="key-commands">
      <h2 id="key-commands">Create or rotate a key</h2>
      <p>Use a key, because a key that the console created would outlive its session:</p>
      <Command line={curl("POST", "v1/keys", '{"name": "support agent", "access": "agent"}')} />
      <Command line={curl("POST", "v1/keys/KEY_ID/rotate", '{"overlapSeconds": 3600}')} />
      <p>Or, on the machine of the service:</p>
      <Command line={`inboxd key create --name "support agent" --access agent${options}`} />
      <Command line="inboxd key rotate KEY_ID --overlap 3600" />
    </section>
  );
}

function shellWord(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function nameOf(key: Key): string {
  return key.name ?? endsOf(key);
}

/** The beginning and the end of the secret. */
function endsOf({ prefix, lastFour }: Key): string {
  return `${prefix}…${lastFour}`;
}

function creatorOf({ createdBy }: Key): string {
  if (createdBy === null) return "the first start";
  return createdBy === "cli" ? "the command line" : createdBy === "operator" ? "the operator" : createdBy;
}
