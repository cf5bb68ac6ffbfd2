import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { allScreens } from "./screens.ts";
import { hasShortcuts, isMac } from "./theme.ts";

export const isHelpOpen = signal(false);

const shortcuts: readonly (readonly [keys: string, what: string])[] = [
  ["j  k", "Next, previous thread"],
  ["Enter", "Open the thread"],
  ["u", "Back to the list"],
  ["r", "Reply"],
  ["c", "Write"],
  ["m", "Mark as read or unread"],
  ["e", "Archive"],
  ["x", "Select"],
  ["/", "Search"],
  [isMac ? "⌘ K" : "Ctrl K", "Go to an inbox, a mail or anything with an id"],
  ...allScreens.flatMap(({ shortcut, name }) => (shortcut ? [[`g ${shortcut}`, `Go to ${name}`] as const] : [])),
  ["?", "Show this list"],
];

export function Help() {
  const dialog = useRef<HTMLDialogElement>(null);
  const isOpen = isHelpOpen.value;
  useEffect(() => {
    if (isOpen) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen]);
  const close = () => {
    isHelpOpen.value = false;
  };
  return (
    <dialog ref={dialog} class="help" aria-label="Shortcuts" onClose={close}>
      <h2>Shortcuts</h2>
      <dl>
        {shortcuts.map(([keys, what]) => (
          <div key={keys}>
            <dt>
              {keys.split(/ +/).map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <label class="check">
        <input
          type="checkbox"
          checked={hasShortcuts.value}
          onChange={(event) => {
            hasShortcuts.value = event.currentTarget.checked;
          }}
        />
        Enable single-key shortcuts
      </label>
      <div class="actions">
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
    </dialog>
  );
}
