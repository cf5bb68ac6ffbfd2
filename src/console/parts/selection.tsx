import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Icon } from "./icon.tsx";

/** The selected rows of a list. */
export interface Selection {
  size: number;
  has(id: string): boolean;
  toggle(id: string): void;
  clear(): void;
}

/** Selects rows by id. A row that leaves the list is no longer selected. */
export function useSelection(listed: readonly string[]): Selection {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const present = new Set(listed.filter((id) => chosen.has(id)));
  return {
    size: present.size,
    has: (id) => present.has(id),
    toggle(id) {
      const next = new Set(present);
      if (!next.delete(id)) next.add(id);
      setChosen(next);
    },
    clear: () => setChosen(new Set()),
  };
}

export function RowSelect({ id, name, selection }: { id: string; name: string; selection: Selection }) {
  return (
    <label class="row-select">
      <input
        type="checkbox"
        checked={selection.has(id)}
        onChange={() => selection.toggle(id)}
        aria-label={`Select ${name}`}
      />
    </label>
  );
}

interface SelectionBarProps {
  label: string;
  count: number;
  /** The buttons of actions on all selected rows. */
  children: ComponentChildren;
  onClear(): void;
}

/** A toolbar for the selected rows. */
export function SelectionBar({ label, count, children, onClear }: SelectionBarProps) {
  return (
    <div class="selection" role="toolbar" aria-label={label}>
      <span role="status">{count} selected</span>
      {children}
      <button type="button" class="quiet small" aria-label="Clear selection" onClick={onClear}>
        <Icon name="close" />
      </button>
    </div>
  );
}
