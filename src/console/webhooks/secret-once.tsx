import { Command } from "../parts/command.tsx";

/** A secret, which is told this once. */
export function SecretOnce({ secret, onDone }: { secret: string; onDone: () => void }) {
  return (
    <section class="card secret" aria-label="Signing secret">
      <h2>Keep this secret now</h2>
      <p class="quiet-text">Deliveries are signed with it. It is shown this once.</p>
      <Command line={secret} />
      <div class="actions">
        <button type="button" onClick={onDone}>
          I have it
        </button>
      </div>
    </section>
  );
}
