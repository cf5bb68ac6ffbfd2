import { useState } from "preact/hooks";

/** Which rows of a list are chosen, for something to be done with all of them. */
export interface Selection {
  size: number;
  has(id: string): boolean;
  toggle(id: string): void;
  clear(): void;
}

/** Of what is listed now: what has left the list is chosen no more. */
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
