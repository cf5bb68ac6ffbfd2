import { useState } from "preact/hooks";
import { href } from "../address.ts";
import { inboxd, type Schemas, wordsOf } from "../api.ts";
import { tell } from "../frame/notice.tsx";
import { useReloadAt } from "../live.ts";
import { Confirm } from "../parts/confirm.tsx";
import { curl } from "../parts/curl.ts";
import { CursorPager, useCursors } from "../parts/cursors.tsx";
import { Empty } from "../parts/empty.tsx";
import { ListFault } from "../parts/fault.tsx";
import { Icon } from "../parts/icon.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { Page } from "../parts/page.tsx";
import { Placeholder } from "../parts/placeholder.tsx";
import { Tag, type Tone } from "../parts/tag.tsx";
import { Time } from "../parts/time.tsx";
import { may } from "../session.ts";
import { NewSuppression } from "./new-suppression.tsx";

type Suppression = Schemas["Suppression"];

const reasons = [undefined, "bounce", "complaint", "unsubscribe", "manual"] as const;
const words = { bounce: "Bounced", complaint: "Complained", unsubscribe: "Unsubscribed", manual: "By hand" } as const;
const tones: Readonly<Record<Suppression["reason"], Tone>> = {
  ...{ bounce: "bad", complaint: "bad", unsubscribe: "warm", manual: "plain" },
};

/** To whom no mail is sent, and why. */
export function SuppressionList() {
  const [reason, setReason] = useState<(typeof reasons)[number]>(undefined);
  const cursors = useCursors();
  const { cursor } = cursors;
  const [leaving, setLeaving] = useState<Suppression | undefined>(undefined);
  const page = useLoaded(
    () =>
      inboxd.request("GET", "/v1/suppressions", {
        query: { ...(reason && { reason }), ...(cursor && { cursor }), limit: 50 },
      }),
    [reason, cursor],
  );
  useReloadAt((event) => event === "suppression.added", page.reload);
  const listed = page.value?.data ?? [];

  async function remove({ id, address }: Suppression) {
    try {
      await inboxd.request("DELETE", "/v1/suppressions/{id}", { path: { id } });
      tell(`Mail to ${address} goes out again`);
    } catch (error) {
      tell(wordsOf(error), "bad");
    }
    page.reload();
  }

  return (
    <Page title="Suppressions" about="Addresses that get no mail: they bounced, complained, left, or you said so.">
      {page.error !== undefined && <ListFault error={page.error} again={page.reload} />}
      {page.error === undefined && (
        <>
          {may("manage") && <NewSuppression onMade={page.reload} />}
          <fieldset class="tabs" aria-label="Which suppressions">
            {reasons.map((name) => (
              <button
                key={name ?? "all"}
                type="button"
                aria-pressed={reason === name}
                onClick={() => {
                  cursors.begin();
                  setReason(name);
                }}
              >
                {name === undefined ? "All" : words[name]}
              </button>
            ))}
          </fieldset>
        </>
      )}
      {page.isSlow && <Placeholder />}
      {page.value && listed.length === 0 && (
        <Empty
          icon="suppressions"
          title={reason === undefined ? "Nobody is suppressed" : "Nobody for this reason"}
          command={curl("POST", "v1/suppressions", '{"address": "jane@example.com"}')}
        >
          <p>
            When a mail bounces for good, its recipient is put here by itself, and no more mail harms your name. By
            hand:
          </p>
        </Empty>
      )}
      {listed.length > 0 && (
        <ul class="rows">
          {listed.map((suppression) => (
            <SuppressionRow key={suppression.id} suppression={suppression} onRemove={() => setLeaving(suppression)} />
          ))}
        </ul>
      )}
      <CursorPager cursors={cursors} next={page.value?.nextCursor} />
      {leaving && (
        <Confirm
          title={`Send to ${leaving.address} again?`}
          verb="Take it off"
          onDone={(isWanted) => {
            setLeaving(undefined);
            if (isWanted) void remove(leaving);
          }}
        >
          <p>If it bounces again it is put back. Who complained should rather not be written to.</p>
        </Confirm>
      )}
    </Page>
  );
}

function SuppressionRow({ suppression, onRemove }: { suppression: Suppression; onRemove: () => void }) {
  const { address, reason, detail, messageId, createdAt, expiresAt, inboxId } = suppression;
  return (
    <li class="row">
      <div class="row-link">
        <span class="strong">{address}</span>
        <span class="quiet-text">
          {detail ?? (inboxId === null ? "for the whole account" : "for one inbox")}
          {messageId !== null && (
            <>
              {" · "}
              <a href={href(`messages/${messageId}`)}>the mail</a>
            </>
          )}
        </span>
      </div>
      <div class="row-state">
        <Tag tone={tones[reason]}>{words[reason]}</Tag>
        <span class="quiet-text">
          {expiresAt === null ? (
            <Time at={createdAt} />
          ) : (
            <>
              until <Time at={expiresAt} as="short" />
            </>
          )}
        </span>
      </div>
      {may("manage") && (
        <div class="row-actions">
          <button
            type="button"
            class="quiet small"
            aria-label={`Take ${address} off`}
            title="Take it off"
            onClick={onRemove}
          >
            <Icon name="remove" />
          </button>
        </div>
      )}
    </li>
  );
}
