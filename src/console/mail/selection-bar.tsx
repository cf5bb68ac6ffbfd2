import { Icon } from "../parts/icon.tsx";
import { severalAtOnce } from "../parts/loaded.ts";
import { may } from "../session.ts";
import { mark } from "./marking.ts";

/** What can be done with all that is selected. */
export function SelectionBar({ ids, onDone }: { ids: readonly string[]; onDone: () => void }) {
  const markAll = (isRead: boolean) => {
    void severalAtOnce(
      ids.map((id) => () => mark(id, isRead)),
      4,
    ).then(onDone);
  };
  return (
    <div class="selection" role="toolbar" aria-label="Selected threads">
      <span role="status">{ids.length} selected</span>
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
