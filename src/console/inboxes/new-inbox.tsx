import { useState } from "preact/hooks";
import { inboxd, wordsOf } from "../api.ts";
import { tell } from "../frame/notice.tsx";
import { useBusy } from "../parts/busy.ts";
import { account } from "../session.ts";

/** Makes an inbox by its name; without one the service draws one. */
export function NewInbox({ onMade }: { onMade: () => void }) {
  const [fault, setFault] = useState<string | undefined>(undefined);
  const { isBusy, unlessBusy } = useBusy();

  async function make(form: HTMLFormElement) {
    const username = String(new FormData(form).get("username") ?? "").trim();
    try {
      const { address } = await inboxd.inboxes.create(username === "" ? {} : { username });
      form.reset();
      setFault(undefined);
      tell(`${address} is ready for mail`);
      onMade();
    } catch (error) {
      setFault(wordsOf(error));
    }
  }

  return (
    <form
      class="new-inbox"
      onSubmit={(event) => {
        event.preventDefault();
        const form = event.currentTarget;
        void unlessBusy(() => make(form));
      }}
    >
      <label for="username">New inbox</label>
      <div class="joined">
        <input
          id="username"
          name="username"
          autocomplete="off"
          autocapitalize="none"
          spellcheck={false}
          placeholder="any name, or none"
          aria-invalid={fault !== undefined}
          aria-describedby="username-fault"
        />
        <span class="joined-end">@{account.value?.mailDomain}</span>
      </div>
      <button type="submit" disabled={isBusy}>
        Create
      </button>
      <p id="username-fault" class="field-fault" role="alert">
        {fault}
      </p>
    </form>
  );
}
