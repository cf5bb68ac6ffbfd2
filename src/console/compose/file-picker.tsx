import { useRef } from "preact/hooks";
import { formatSize } from "../format.ts";
import { Icon } from "../parts/icon.tsx";

/** The attachments of a mail. They are lost on a reload. */
export function FilePicker({
  files,
  isDisabled,
  onChange,
}: {
  files: readonly File[];
  isDisabled: boolean;
  onChange: (files: readonly File[]) => void;
}) {
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
          onChange([...files, ...(event.currentTarget.files ?? [])]);
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
            onClick={() => onChange(files.filter((_, at) => at !== index))}
          >
            <Icon name="close" />
          </button>
        </span>
      ))}
    </div>
  );
}
