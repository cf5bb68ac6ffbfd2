import { Icon } from "../parts/icon.tsx";
import { severalAtOnce } from "../parts/loaded.ts";
import { may } from "../session.ts";
import type { Selected } from "./list-keys.ts";
import { mark } from "./marking.ts";

/** What can be done with all that is selected. */
export function SelectionBar({ selected, onDone }: { selected: Selected; onDone: () => void }) {
  const markAll = (isRead: boolean) => {
    void severalAtOnce(
      Array.from(
        selected,
        ([id, lastSeen]) =>
          () =>
            mark(id, isRead, lastSeen),
      ),
      4,
    ).then(onDone);
  };
  return (
    <div class="selection" role="toolbar" aria-label="Selected threads">
      <span role="status">{selected.size} selected</span>
      {may("mark") && (
        <>
          <button type="button" class="small" onClick={() => markAll(true)}>
            Mark read
          </button>
          <button type="button" class="small" onClick={() => markAll(false)}>
            Mark unread
          </button>
        </>
      )}
      <button type="button" class="quiet small" aria-label="Select none" onClick={onDone}>
        <Icon name="close" />
      </button>
    </div>
  );
}
