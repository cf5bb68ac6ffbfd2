import { useState } from "preact/hooks";
import { inboxd, type Schemas, wordsOf } from "../api.ts";

type EventType = NonNullable<Schemas["NewWebhookEndpoint"]["eventTypes"]>[number];

const offered: readonly (readonly [type: EventType, words: string])[] = [
  ["message.received", "Mail received"],
  ["message.sent", "Mail sent"],
  ["message.failed", "Mail failed"],
  ["message.bounced", "Mail bounced"],
  ["message.complained", "Complaint"],
  ["*", "All, also what comes later"],
];

/** Gives the signing secret of the endpoint that was made; nothing where it was left. */
export function NewEndpoint({ onDone }: { onDone: (secret: string | undefined) => void }) {
  const [fault, setFault] = useState<string | undefined>(undefined);
  async function make(event: SubmitEvent) {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const description = String(form.get("description") ?? "").trim();
    try {
      const { secret = "" } = await inboxd.webhooks.create({
        url: String(form.get("url") ?? "").trim(),
        eventTypes: form.getAll("type").map(String) as EventType[],
        ...(description !== "" && { description }),
      });
      onDone(secret);
    } catch (error) {
      setFault(wordsOf(error));
    }
  }
  return (
    <form class="card new-endpoint" noValidate onSubmit={(event) => void make(event)}>
      <div class="field">
        <label for="url">Address</label>
        <input
          id="url"
          name="url"
          type="url"
          placeholder="https://app.example/hook"
          aria-invalid={fault !== undefined}
          aria-describedby="url-fault"
        />
        <p id="url-fault" class="field-fault" role="alert">
          {fault}
        </p>
      </div>
      <div class="field">
        <label for="description">Note</label>
        <input id="description" name="description" maxLength={200} placeholder="what it is for" />
      </div>
      <fieldset class="checks">
        <legend class="label">Told of</legend>
        {offered.map(([type, words]) => (
          <label key={type} class="check">
            <input type="checkbox" name="type" value={type} defaultChecked={type === "message.received"} />
            {words}
          </label>
        ))}
      </fieldset>
      <div class="actions">
        <button type="submit" class="primary">
          Add
        </button>
        <button type="button" onClick={() => onDone(undefined)}>
          Leave
        </button>
      </div>
    </form>
  );
}
