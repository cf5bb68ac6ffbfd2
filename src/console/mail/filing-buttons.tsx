import { type Folder, file, label, type Shown } from "./filing.ts";

interface FilingProps {
  inboxId: string;
  threads: readonly Shown[];
  /** Called once the threads are filed. */
  onFiled?(): void;
}

const verbs: readonly (readonly [folder: Folder, verb: string])[] = [
  ["archive", "Archive"],
  ["trash", "Trash"],
  ["inbox", "To inbox"],
];

/** The buttons that put threads into another folder, and a field that labels them. */
export function FilingButtons({ inboxId, threads, onFiled }: FilingProps) {
  return (
    <>
      {verbs.map(
        ([folder, verb]) =>
          threads.some((thread) => thread.folder !== folder) && (
            <button
              key={folder}
              type="button"
              class="small"
              onClick={() => void file(inboxId, threads, folder).then(onFiled)}
            >
              {verb}
            </button>
          ),
      )}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const field = event.currentTarget.elements.namedItem("label") as HTMLInputElement;
          const name = field.value.trim();
          field.value = "";
          if (name !== "") void label(inboxId, threads, { add_labels: [name] });
        }}
      >
        <input
          class="label-field"
          name="label"
          list="labels"
          placeholder="Label"
          aria-label="Add a label"
          autocomplete="off"
        />
      </form>
    </>
  );
}
