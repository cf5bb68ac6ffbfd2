import { useState } from "preact/hooks";
import { inboxd, type Schemas } from "../api.ts";
import { formatCount, formatSize } from "../format.ts";
import { Scrolled } from "../parts/command.tsx";
import { Icon } from "../parts/icon.tsx";
import { LoadState } from "../parts/load-state.tsx";
import { useLoaded } from "../parts/loaded.ts";

type Attachment = Schemas["Attachment"];

/** The files of a message, to download or to read as text. */
export function AttachmentList({ messageId, attachments }: { messageId: string; attachments: readonly Attachment[] }) {
  const [read, setRead] = useState<string>();
  if (attachments.length === 0) return null;
  return (
    <>
      <ul class="attachments" aria-label={formatCount(attachments.length, "attachment")}>
        {attachments.map(({ id, filename, sizeBytes, url }) => (
          <li key={id}>
            <a class="button attachment" href={url} download={filename} target="_blank" rel="noreferrer">
              <Icon name="attachment" />
              <span class="attachment-name">{filename}</span>
              <span class="quiet-text">{formatSize(sizeBytes)}</span>
            </a>
            <button
              type="button"
              class="link"
              aria-expanded={read === filename}
              aria-label={`Text of ${filename}`}
              onClick={() => setRead(read === filename ? undefined : filename)}
            >
              Text
            </button>
          </li>
        ))}
      </ul>
      {read !== undefined && <AttachmentText key={read} messageId={messageId} filename={read} />}
    </>
  );
}

/** The text of a file, piece by piece. */
function AttachmentText({ messageId, filename }: { messageId: string; filename: string }) {
  const [limit, setLimit] = useState(pieceLength);
  const found = useLoaded(() => inboxd.attachments.text(messageId, filename, { limit }), [messageId, filename, limit]);
  if (found.value === undefined) return <LoadState of={found} />;
  const { text, nextOffset, truncated } = found.value;
  const isMore = nextOffset !== null && limit < mostCharacters;
  return (
    <section class="attachment-text" aria-label={`Text of ${filename}`}>
      <Scrolled isBlock>{text === "" ? "(no text)" : text}</Scrolled>
      <p class="paper-tools">
        {isMore && (
          <button type="button" class="link" onClick={() => setLimit(mostCharacters)}>
            Show more
          </button>
        )}
        {(truncated || (nextOffset !== null && !isMore)) && (
          <span class="quiet-text">The end is cut: download the file for the rest</span>
        )}
      </p>
    </section>
  );
}

const pieceLength = 20_000;
/** The longest piece that the API gives. */
const mostCharacters = 100_000;
