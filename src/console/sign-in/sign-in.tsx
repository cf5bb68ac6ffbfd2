import { useState } from "preact/hooks";
import { Command } from "../parts/command.tsx";
import { Mark } from "../parts/icon.tsx";
import { useTitle } from "../parts/page.tsx";
import { isTooOpen, signIn } from "../session.ts";

/** `why` says what became of the session that there was, or of the link. */
export function SignIn({ why }: { why: string | undefined }) {
  const [fault, setFault] = useState(why);
  const [isBusy, setIsBusy] = useState(false);
  useTitle("Sign in");

  async function enter(event: SubmitEvent) {
    event.preventDefault();
    const key = String(new FormData(event.currentTarget as HTMLFormElement).get("key") ?? "").trim();
    if (key === "") return setFault("Enter the API key that the first start printed.");
    setIsBusy(true);
    setFault(await signIn(key).catch(() => "The service does not answer. Try again in a moment."));
    setIsBusy(false);
  }

  return (
    <main class="sign-in">
      <div class="sign-in-card">
        <Mark />
        <h1>Sign in to inboxd</h1>
        {isTooOpen() ? (
          <p class="fault">
            The console needs <strong>https</strong>: over plain http a browser keeps no session here. Open it by https,
            or on the machine that it runs on.
          </p>
        ) : (
          <form onSubmit={(event) => void enter(event)}>
            <label for="key">API key</label>
            <input
              id="key"
              name="key"
              type="password"
              autocomplete="off"
              spellcheck={false}
              placeholder="ibx_…"
              aria-invalid={fault !== undefined}
              aria-describedby="key-fault"
            />
            <p id="key-fault" class="field-fault" role="alert">
              {fault}
            </p>
            <button type="submit" class="primary" disabled={isBusy}>
              Sign in
            </button>
          </form>
        )}
        <div class="sign-in-other">
          <p>On the machine that runs it, one line opens the console without a key:</p>
          <Command line="inboxd console" />
        </div>
      </div>
    </main>
  );
}
