import { useState } from "preact/hooks";
import { errorText, InboxdError, inboxd, type Schemas } from "../api.ts";
import { newIdempotencyKey } from "../machine.ts";
import { useBusy } from "../parts/busy.ts";

type EventType = NonNullable<Schemas["NewWebhookEndpoint"]["eventTypes"]>[number];

const offered: readonly (readonly [type: EventType, label: string])[] = [
  ["message.received", "Mail received"],
  ["message.sent", "Mail sent"],
  ["message.failed", "Mail failed"],
  ["message.bounced", "Mail bounced"],
  ["message.complained", "Complaint"],
  ["*", "All events, including future types"],
];

const createdBefore = "An endpoint was already created, but the response was lost. Close this form to see it";

/** A form for a new endpoint. `onDone` gets the endpoint, or undefined if the form was cancelled. */
export function NewEndpoint({ onDone }: { onDone: (created: Schemas["CreatedWebhookEndpoint"] | undefined) => void }) {
  const [fault, setFault] = useState<string | undefined>(undefined);
  const { isBusy, unlessBusy } = useBusy();
  // Another try after a lost response does not create a second endpoint.
  const [idempotencyKey] = useState(newIdempotencyKey);
  async function create(form: FormData) {
    const description = String(form.get("description") ?? "").trim();
    try {
      const endpoint = {
        url: String(form.get("url") ?? "").trim(),
        eventTypes: form.getAll("type").map(String) as EventType[],
        ...(description !== "" && { description }),
      };
      onDone(await inboxd.webhooks.create(endpoint, { idempotencyKey }));
    } catch (error) {
      const isCreatedBefore = error instanceof InboxdError && error.code === "idempotency_key_reused";
      setFault(isCreatedBefore ? createdBefore : errorText(error));
    }
  }
  return (
    <form
      class="card new-endpoint"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        const form = new FormData(event.currentTarget);
        void unlessBusy(() => create(form));
      }}
    >
      <div class="field">
        <label for="url">URL</label>
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
        <label for="description">Description</label>
        <input id="description" name="description" placeholder="optional" />
      </div>
      <fieldset class="checks">
        <legend class="label">Events</legend>
        {offered.map(([type, label]) => (
          <label key={type} class="check">
            <input type="checkbox" name="type" value={type} defaultChecked={type === "message.received"} />
            {label}
          </label>
        ))}
      </fieldset>
      <div class="actions">
        <button type="submit" class="primary" disabled={isBusy}>
          Add
        </button>
        <button type="button" onClick={() => onDone(undefined)}>
          Cancel
        </button>
      </div>
    </form>
  );
}
