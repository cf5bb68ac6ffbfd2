import { Icon, Mark } from "../parts/icon.tsx";

/** What is painted before it is known who is here: the frame's own ground, so that nothing moves when the rest is there. */
export function Coming() {
  return (
    <div class="frame" aria-busy="true">
      <header class="bar">
        <button type="button" class="quiet menu-button" aria-label="Menu" disabled>
          <Icon name="menu" />
        </button>
        <ComingBrand />
      </header>
      <div class="navigation-ground">
        <ComingBrand />
      </div>
      <main id="main" tabIndex={-1}>
        <span class="unseen">Loading</span>
      </main>
    </div>
  );
}

function ComingBrand() {
  return (
    <span class="brand">
      <Mark />
      inboxd
    </span>
  );
}
