import { useState } from "preact/hooks";
import { errorText, InboxdError, inboxd, type Schemas } from "../api.ts";
import { looks } from "../events/event-look.ts";
import { newIdempotencyKey } from "../machine.ts";
import { useBusy } from "../parts/busy.ts";

type Endpoint = Schemas["WebhookEndpoint"];
type EventType = NonNullable<Schemas["NewWebhookEndpoint"]["eventTypes"]>[number];

const createdBefore = "An endpoint was already created, but the response was lost. Close this form to see it";

interface EndpointFormProps {
  /** The endpoint to change; undefined for a new one. */
  endpoint?: Endpoint;
  /** Gets the endpoint, with its secret if it is new, or undefined if the form was cancelled. */
  onDone(saved: (Endpoint & { secret?: string }) | undefined): void;
}

/** A form for a new endpoint, or for the settings of an existing one. */
export function EndpointForm({ endpoint, onDone }: EndpointFormProps) {
  const [fault, setFault] = useState<string | undefined>(undefined);
  const { isBusy, unlessBusy } = useBusy();
  // Another try after a lost response does not create a second endpoint.
  const [idempotencyKey] = useState(newIdempotencyKey);
  const chosen = endpoint?.eventTypes ?? ["message.received"];
  // The types of the endpoint may be more than this console knows.
  const offered = [...new Set([...Object.keys(looks), ...chosen, "*"])];

  async function save(form: FormData) {
    const url = String(form.get("url") ?? "").trim();
    const description = String(form.get("description") ?? "").trim();
    const settings = {
      eventTypes: form.getAll("type").map(String) as EventType[],
      description: description === "" ? null : description,
      skipAutomated: form.has("skipAutomated"),
    };
    try {
      onDone(
        endpoint === undefined
          ? await inboxd.webhooks.create({ ...settings, url }, { idempotencyKey })
          : // A URL in a change enables the endpoint, also if it is the same.
            await inboxd.webhooks.change(endpoint.id, { ...settings, ...(url !== endpoint.url && { url }) }),
      );
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
        void unlessBusy(() => save(form));
      }}
    >
      <div class="field">
        <label for="url">URL</label>
        <input
          id="url"
          name="url"
          type="url"
          defaultValue={endpoint?.url ?? ""}
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
        <input id="description" name="description" defaultValue={endpoint?.description ?? ""} placeholder="optional" />
      </div>
      <fieldset class="checks">
        <legend class="label">Events</legend>
        {offered.map((type) => (
          <label key={type} class="check">
            <input type="checkbox" name="type" value={type} defaultChecked={chosen.includes(type)} />
            {typeName(type)}
          </label>
        ))}
      </fieldset>
      <label class="check">
        <input type="checkbox" name="skipAutomated" defaultChecked={endpoint?.skipAutomated ?? false} />
        Leave out received mail that a program wrote
      </label>
      <div class="actions">
        <button type="submit" class="primary" disabled={isBusy}>
          {endpoint === undefined ? "Add" : "Save"}
        </button>
        <button type="button" onClick={() => onDone(undefined)}>
          Cancel
        </button>
      </div>
    </form>
  );
}

function typeName(type: string): string {
  if (type === "*") return "All events, including future types";
  return Object.hasOwn(looks, type) ? looks[type as keyof typeof looks].name : type;
}
