import { apiHref } from "../address.ts";
import { inboxd } from "../api.ts";
import { formatSize } from "../format.ts";
import { Scrolled } from "../parts/command.tsx";
import { LoadState } from "../parts/load-state.tsx";
import { useLoaded } from "../parts/loaded.ts";

/** The part of a mail that is shown. The rest can be downloaded. */
const maxBytes = 256 << 10;

/** The source of a mail: its headers, or the first part of all its bytes. */
export function MessageSource({ id, part }: { id: string; part: "headers" | "raw" }) {
  const source = useLoaded(() => inboxd.messages.raw(id), [id]);
  if (source.value === undefined) return <LoadState of={source} />;
  const shown = new TextDecoder().decode(source.value.subarray(0, maxBytes)).replaceAll("\r\n", "\n");
  const head = shown.split("\n\n", 1)[0] ?? "";
  return (
    <>
      {part === "headers" ? <Headers head={head} /> : <Scrolled isBlock>{shown}</Scrolled>}
      <p class="paper-tools">
        <a href={apiHref(`v1/messages/${encodeURIComponent(id)}/raw`)} download={`${id}.eml`}>
          Download the mail
        </a>
        <span class="quiet-text">
          {formatSize(source.value.length)}
          {part === "raw" && source.value.length > maxBytes && `, only the first ${formatSize(maxBytes)} are shown`}
        </span>
      </p>
    </>
  );
}

function Headers({ head }: { head: string }) {
  const fields = head.replace(/\n[ \t]+/g, " ").split("\n");
  return (
    <dl class="facts headers">
      {fields.map((field, index) => {
        const colon = field.indexOf(":");
        return [
          <dt key={`${index} name`}>{field.slice(0, colon)}</dt>,
          <dd key={`${index} value`}>{field.slice(colon + 1).trim()}</dd>,
        ];
      })}
    </dl>
  );
}
