import { useState } from "preact/hooks";
import { href } from "../address.ts";
import { Mark } from "../parts/icon.tsx";
import { useTitle } from "../parts/page.tsx";
import { type OpenLink, signInByLink } from "../session.ts";

/** Asks before a link takes the place of the session that the browser has: anybody may have written the link. */
export function OtherAccount({ link: { token, account, current }, onKeep }: { link: OpenLink; onKeep: () => void }) {
  const [fault, setFault] = useState<string>();
  const [isBusy, setIsBusy] = useState(false);
  useTitle("Sign in");

  async function change() {
    setIsBusy(true);
    const answer = await signInByLink(token, true).catch(() => "The service does not answer. Try again in a moment.");
    // Nothing of the other account's mail stays in the page.
    if (answer === undefined) return location.replace(href(""));
    setFault(typeof answer === "string" ? answer : undefined);
    setIsBusy(false);
  }

  return (
    <main class="sign-in">
      <div class="sign-in-card">
        <Mark />
        <h1>You are signed in already</h1>
        <p>
          This browser is signed in as <strong>{current}</strong>. The link that you opened signs in as{" "}
          <strong>{account}</strong> in its place. If it was not you who made this link, keep your session.
        </p>
        <p class="field-fault" role="alert">
          {fault}
        </p>
        <div class="actions">
          <button type="button" class="primary" onClick={onKeep}>
            Stay signed in as {current}
          </button>
          <button type="button" disabled={isBusy} onClick={() => void change()}>
            Sign in as {account}
          </button>
        </div>
      </div>
    </main>
  );
}
