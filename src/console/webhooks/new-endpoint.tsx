import { useState } from "preact/hooks";
import { InboxdError, inboxd, type Schemas, wordsOf } from "../api.ts";
import { newIdempotencyKey } from "../machine.ts";
import { useBusy } from "../parts/busy.ts";

type EventType = NonNullable<Schemas["NewWebhookEndpoint"]["eventTypes"]>[number];

const offered: readonly (readonly [type: EventType, words: string])[] = [
  ["message.received", "Mail received"],
  ["message.sent", "Mail sent"],
  ["message.failed", "Mail failed"],
  ["message.bounced", "Mail bounced"],
  ["message.complained", "Complaint"],
  ["*", "All, also what comes later"],
];

const madeBefore = "An endpoint was made before, though its answer was lost. Leave this form to see it";

/** Gives the endpoint that was made; nothing where it was left. */
export function NewEndpoint({ onDone }: { onDone: (made: Schemas["CreatedWebhookEndpoint"] | undefined) => void }) {
  const [fault, setFault] = useState<string | undefined>(undefined);
  const { isBusy, unlessBusy } = useBusy();
  // A second try after a lost answer makes no second one.
  const [idempotencyKey] = useState(newIdempotencyKey);
  async function make(form: FormData) {
    const description = String(form.get("description") ?? "").trim();
    try {
      const endpoint = {
        url: String(form.get("url") ?? "").trim(),
        eventTypes: form.getAll("type").map(String) as EventType[],
        ...(description !== "" && { description }),
      };
      onDone(await inboxd.webhooks.create(endpoint, { idempotencyKey }));
    } catch (error) {
      const isMadeBefore = error instanceof InboxdError && error.code === "idempotency_key_reused";
      setFault(isMadeBefore ? madeBefore : wordsOf(error));
    }
  }
  return (
    <form
      class="card new-endpoint"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        const form = new FormData(event.currentTarget);
        void unlessBusy(() => make(form));
      }}
    >
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
        <input id="description" name="description" placeholder="what it is for" />
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
        <button type="submit" class="primary" disabled={isBusy}>
          Add
        </button>
        <button type="button" onClick={() => onDone(undefined)}>
          Leave
        </button>
      </div>
    </form>
  );
}
