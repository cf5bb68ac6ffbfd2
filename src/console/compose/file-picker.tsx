import { useRef } from "preact/hooks";
import { formatSize } from "../format.ts";
import { Icon } from "../parts/icon.tsx";
import { account } from "../session.ts";

/** The files that fit into the limits of a mail, with `added` as far as they do, and a text about those that do not. */
export function withFiles(files: readonly File[], added: Iterable<File>): { files: readonly File[]; fault?: string } {
  const limit = account.value?.limits.mailBytes ?? Number.POSITIVE_INFINITY;
  const taken = [...files];
  const refused: File[] = [];
  for (const file of added) {
    const bytes = taken.reduce((sum, { size }) => sum + size, file.size);
    if (taken.length < mostFiles && bytes * encodedShare <= limit) taken.push(file);
    else refused.push(file);
  }
  if (refused.length === 0) return { files: taken };
  const names = refused.map(({ name, size }) => `${name} (${formatSize(size)})`).join(", ");
  const most = `The files of a mail may have ${formatSize(limit / encodedShare)} together, and be ${mostFiles} at most`;
  return { files: taken, fault: `Not attached: ${names}. ${most}` };
}

const mostFiles = 50;
/** A file in base64 has four thirds of its size, and line ends. */
const encodedShare = 1.37;

interface FilePickerProps {
  files: readonly File[];
  isDisabled: boolean;
  onAdd(added: FileList): void;
  onRemove(files: readonly File[]): void;
}

/** The attachments of a mail. They are lost on a reload. */
export function FilePicker({ files, isDisabled, onAdd, onRemove }: FilePickerProps) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <div class="files">
      <button type="button" class="small" disabled={isDisabled} onClick={() => input.current?.click()}>
        <Icon name="attachment" />
        Attach
      </button>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Files to attach"
        onChange={(event) => {
          if (event.currentTarget.files) onAdd(event.currentTarget.files);
          event.currentTarget.value = "";
        }}
      />
      {files.map((file, index) => (
        <span key={`${index} ${file.name}`} class="file">
          <span class="attachment-name">{file.name}</span>
          <span class="quiet-text">{formatSize(file.size)}</span>
          <button
            type="button"
            class="quiet small"
            disabled={isDisabled}
            aria-label={`Remove ${file.name}`}
            onClick={() => onRemove(files.filter((_, at) => at !== index))}
          >
            <Icon name="close" />
          </button>
        </span>
      ))}
    </div>
  );
}
