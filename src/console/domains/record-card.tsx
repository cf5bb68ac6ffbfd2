import { CopyButton } from "../parts/command.tsx";
import { Tag, type Tone } from "../parts/tag.tsx";
import { type DomainRecord, purposes } from "./domain-words.tsx";

const tones: Readonly<Record<DomainRecord["status"], Tone>> = {
  unchecked: "plain",
  valid: "good",
  missing: "warm",
  invalid: "bad",
  unknown: "plain",
};

/** One DNS record: what to publish, each part with a button that copies it, and what the last check found. */
export function RecordCard({ record }: { record: DomainRecord }) {
  const { purpose, required, type, name, host, value, priority, status, problem, hint, found } = record;
  return (
    <li class="card dns-record">
      <header>
        <h3>{purposes[purpose].join(": ")}</h3>
        <span>
          <Tag tone={tones[status]}>
            {status}
            {problem !== null && `: ${problem.replaceAll("_", " ")}`}
          </Tag>{" "}
          {!required && <span class="quiet-text">optional</span>}
        </span>
      </header>
      {hint !== null && <p class={status === "valid" ? "quiet-text" : "dns-hint"}>{hint}</p>}
      <dl class="facts">
        <dt>Type</dt>
        <dd>{type}</dd>
        <dt>Host</dt>
        <dd>
          <Copied text={host ?? name} what={`Copy the host of ${name}`} />
          {host !== null && host !== name && <span class="quiet-text">the whole name is {name}</span>}
        </dd>
        <dt>Value</dt>
        <dd>
          <Copied text={value} what={`Copy the value of ${name}`} />
        </dd>
        {priority !== null && (
          <>
            <dt>Priority</dt>
            <dd>
              <Copied text={`${priority}`} what={`Copy the priority of ${name}`} />
            </dd>
          </>
        )}
        {found.length > 0 && status !== "valid" && (
          <>
            <dt>Found</dt>
            <dd>
              {found.map((text) => (
                <code key={text}>{text}</code>
              ))}
            </dd>
          </>
        )}
      </dl>
    </li>
  );
}

function Copied({ text, what }: { text: string; what: string }) {
  return (
    <span class="copied">
      <code>{text}</code>
      <CopyButton text={text} what={what} />
    </span>
  );
}
