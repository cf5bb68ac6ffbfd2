import { useState } from "preact/hooks";
import { inboxd, wordsOf } from "../api.ts";
import { tell } from "../frame/notice.tsx";

export function NewSuppression({ onMade }: { onMade: () => void }) {
  const [fault, setFault] = useState<string | undefined>(undefined);
  async function make(event: SubmitEvent) {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const address = String(new FormData(form).get("address") ?? "").trim();
    try {
      await inboxd.request("POST", "/v1/suppressions", { body: { address } });
      form.reset();
      setFault(undefined);
      tell(`No mail goes to ${address}`);
      onMade();
    } catch (error) {
      setFault(wordsOf(error));
    }
  }
  return (
    <form class="new-inbox" noValidate onSubmit={(event) => void make(event)}>
      <label for="address">Send no mail to</label>
      <input
        id="address"
        name="address"
        inputMode="email"
        autocapitalize="none"
        autocomplete="off"
        spellcheck={false}
        placeholder="jane@example.com"
        aria-invalid={fault !== undefined}
        aria-describedby="address-fault"
      />
      <button type="submit">Add</button>
      <p id="address-fault" class="field-fault" role="alert">
        {fault}
      </p>
    </form>
  );
}
