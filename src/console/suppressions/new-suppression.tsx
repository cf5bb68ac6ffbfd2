import { useState } from "preact/hooks";
import { inboxd, wordsOf } from "../api.ts";
import { tell } from "../frame/notice.tsx";
import { useBusy } from "../parts/busy.ts";

export function NewSuppression({ onMade }: { onMade: () => void }) {
  const [fault, setFault] = useState<string | undefined>(undefined);
  const { isBusy, unlessBusy } = useBusy();
  async function make(form: HTMLFormElement) {
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
    <form
      class="new-inbox"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        const form = event.currentTarget;
        void unlessBusy(() => make(form));
      }}
    >
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
      <button type="submit" disabled={isBusy}>
        Add
      </button>
      <p id="address-fault" class="field-fault" role="alert">
        {fault}
      </p>
    </form>
  );
}
