import { apiHref } from "../address.ts";
import { inboxd } from "../api.ts";
import { Fault } from "../parts/fault.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { Placeholder } from "../parts/placeholder.tsx";
import { Scrolled } from "../parts/scrolled.tsx";
import { sizeWords } from "../words.ts";

/** So much of a mail is shown; what is longer is there to be downloaded. */
const mostBytes = 256 << 10;

/** The mail as it came or went: its head, or all of it. */
export function MessageSource({ id, part }: { id: string; part: "headers" | "raw" }) {
  const source = useLoaded(() => inboxd.messages.raw(id), [id]);
  if (source.error !== undefined) return <Fault error={source.error} again={source.reload} />;
  if (source.value === undefined) return source.isSlow ? <Placeholder /> : null;
  const shown = new TextDecoder().decode(source.value.subarray(0, mostBytes)).replaceAll("\r\n", "\n");
  const head = shown.split("\n\n", 1)[0] ?? "";
  return (
    <>
      {part === "headers" ? <Headers head={head} /> : <Scrolled isBlock>{shown}</Scrolled>}
      <p class="paper-tools">
        <a href={apiHref(`v1/messages/${encodeURIComponent(id)}/raw`)} download={`${id}.eml`}>
          Download the mail
        </a>
        <span class="quiet-text">
          {sizeWords(source.value.length)}
          {part === "raw" &&
            source.value.length > mostBytes &&
            `, of which the first ${sizeWords(mostBytes)} are shown`}
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
