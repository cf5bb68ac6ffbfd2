import type { Schemas } from "../api.ts";
import { Icon } from "../parts/icon.tsx";
import { countWords, sizeWords } from "../words.ts";

/** The files of a message, opened by addresses that hold for a while. */
export function AttachmentList({ attachments }: { attachments: readonly Schemas["Attachment"][] }) {
  if (attachments.length === 0) return null;
  return (
    <ul class="attachments" aria-label={countWords(attachments.length, "attachment")}>
      {attachments.map(({ id, filename, sizeBytes, url }) => (
        <li key={id}>
          <a class="button attachment" href={url} download={filename} target="_blank" rel="noreferrer">
            <Icon name="attachment" />
            <span class="attachment-name">{filename}</span>
            <span class="quiet-text">{sizeWords(sizeBytes)}</span>
          </a>
        </li>
      ))}
    </ul>
  );
}
