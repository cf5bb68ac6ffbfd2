import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { go, href } from "../address.ts";
import { inboxd } from "../api.ts";
import { formatCount, formatShortTime } from "../format.ts";
import { clock } from "../machine.ts";
import { Icon, type IconName } from "../parts/icon.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { may } from "../session.ts";
import { offeredScreens } from "./screens.ts";

export const isGoToOpen = signal(false);

export function openGoTo(): void {
  if (may("read")) isGoToOpen.value = true;
}

interface Target {
  icon: IconName;
  name: string;
  note: string;
  path: string;
}

/** The screens of things by the prefix of their ids. */
const kinds = {
  inb: ["inboxes", "Inbox", "inboxes"],
  thr: ["reply", "Thread", "threads"],
  msg: ["in", "Message", "messages"],
  evt: ["events", "Event", "events"],
  whk: ["webhooks", "Webhook", "webhooks"],
  dom: ["domains", "Domain", "domains"],
} as const;

const idShape = /^(inb|thr|msg|evt|whk|dom)_[0-9a-z]{26}$/;
const mostOfAKind = 6;
/** The pause in typing after which mail is searched. */
const pauseMs = 200;

/** A dialog that goes to a screen, an inbox, a thread, a message, an event, a webhook or a domain by its name, its address or its id. */
export function GoTo() {
  return isGoToOpen.value ? <GoToDialog /> : null;
}

function GoToDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState("");
  const [active, setActive] = useState(0);
  const { targets, isSearching } = useTargets(text.trim());
  const chosen = Math.min(active, targets.length - 1);
  useEffect(() => dialog.current?.showModal(), []);
  useEffect(() => document.getElementById(optionId(chosen))?.scrollIntoView({ block: "nearest" }), [chosen]);

  const close = () => dialog.current?.close();
  function open(target: Target | undefined) {
    if (target === undefined) return;
    close();
    go(href(target.path));
  }
  function press(event: KeyboardEvent) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setActive((chosen + step + targets.length) % Math.max(1, targets.length));
    else if (event.key === "Enter") open(targets[chosen]);
    else return;
    event.preventDefault();
  }

  return (
    <dialog
      ref={dialog}
      class="go-to"
      aria-label="Go to"
      onClose={() => {
        isGoToOpen.value = false;
      }}
      // The dialog itself is hit only beside its content.
      onPointerDown={(event) => event.target === dialog.current && close()}
    >
      <div class="go-to-inside">
        <input
          type="text"
          role="combobox"
          aria-label="Name, address or id"
          placeholder="Name, address or id"
          autocomplete="off"
          spellcheck={false}
          aria-autocomplete="list"
          aria-expanded={targets.length > 0}
          aria-controls={targets.length > 0 ? "go-to-list" : undefined}
          aria-activedescendant={targets.length > 0 ? optionId(chosen) : undefined}
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setActive(0);
          }}
          onKeyDown={press}
        />
        <p class={targets.length > 0 ? "unseen" : "quiet-text"} role="status">
          {targets.length > 0
            ? formatCount(targets.length, "result")
            : isSearching
              ? "Searching"
              : "Nothing found. Mail is found by whole words"}
        </p>
        {targets.length > 0 && (
          <div id="go-to-list" role="listbox" aria-label="Results">
            {targets.map((target, index) => (
              // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the focus and the keys, as in every combobox
              <div
                key={target.path}
                id={optionId(index)}
                role="option"
                tabIndex={-1}
                aria-selected={index === chosen}
                onClick={() => open(target)}
              >
                <Icon name={target.icon} />
                <span class="go-to-name">{target.name}</span>
                <span class="quiet-text">{target.note}</span>
              </div>
            ))}
          </div>
        )}
      </div>
    </dialog>
  );
}

function optionId(index: number): string {
  return `go-to-${index}`;
}

/** The targets that a text names: the thing with this id, else screens, inboxes, and the newest mail that has its words. */
function useTargets(text: string): { targets: readonly Target[]; isSearching: boolean } {
  const [searched, setSearched] = useState("");
  const kind = idShape.exec(text)?.[1] as keyof typeof kinds | undefined;
  const wanted = kind === undefined ? text : "";
  useEffect(() => {
    const timer = setTimeout(() => setSearched(wanted), pauseMs);
    return () => clearTimeout(timer);
  }, [wanted]);
  const listed = useLoaded(() => inboxd.inboxes.list({ limit: 100 }).page(), []);
  const found = useLoaded(() => search(searched), [searched]);
  if (kind !== undefined) {
    const [icon, note, path] = kinds[kind];
    return { targets: [{ icon, name: text, note, path: `${path}/${text}` }], isSearching: false };
  }
  const lower = text.toLowerCase();
  const inboxes = (listed.value?.data ?? []).map(({ id, address, externalId }) => ({
    ...inboxTarget(id, address),
    note: externalId ?? "Inbox",
  }));
  const matching = [
    ...offeredScreens()
      .flat()
      .filter(({ name }) => name.toLowerCase().includes(lower))
      .map(({ icon, name, path }) => ({ icon, name, note: "Screen", path })),
    ...inboxes.filter(({ name, note }) => `${name} ${note}`.toLowerCase().includes(lower)).slice(0, mostOfAKind),
    // Until the new text is searched, the mail of the old one is not shown.
    ...(searched === wanted ? (found.value ?? []) : []),
  ];
  return {
    // Of several mails of a thread the newest.
    targets: matching.filter(({ path }, index) => matching.findIndex((other) => other.path === path) === index),
    isSearching: searched !== wanted || (found.value === undefined && found.error === undefined),
  };
}

function inboxTarget(id: string, address: string): Target {
  return { icon: "inboxes", name: address, note: "Inbox", path: `inboxes/${id}` };
}

/** The inbox with this address, which may not be among the newest, and the newest mail with these words. */
async function search(text: string): Promise<Target[]> {
  if (!/[\p{L}\p{N}]{2}/u.test(text)) return [];
  const [inbox, mail] = await Promise.all([
    text.includes("@") ? inboxd.inboxes.find(text) : undefined,
    inboxd.messages.search({ q: text, limit: mostOfAKind }).page(),
  ]);
  return [
    ...(inbox === undefined ? [] : [inboxTarget(inbox.id, inbox.address)]),
    ...mail.data.map(({ direction, subject, fromName, fromAddr, toAddr, createdAt, threadId }) => ({
      icon: direction === "inbound" ? ("in" as const) : ("out" as const),
      name: subject || "(no subject)",
      note: `${direction === "inbound" ? (fromName ?? fromAddr) : `to ${toAddr}`}, ${formatShortTime(new Date(createdAt), clock.value)}`,
      path: `threads/${threadId}`,
    })),
  ];
}
