import { signal } from "@preact/signals";

const notice = signal<{ words: string; tone: "good" | "bad" } | undefined>(undefined);
let timer: ReturnType<typeof setTimeout> | undefined;

/** Says what came of something, at the edge, for long enough to be read. */
export function tell(words: string, tone: "good" | "bad" = "good"): void {
  clearTimeout(timer);
  notice.value = { words, tone };
  timer = setTimeout(() => {
    notice.value = undefined;
  }, 6_000);
}

export function Notice() {
  return (
    <div class="notices" role="status">
      {notice.value && <p class={`notice is-${notice.value.tone}`}>{notice.value.words}</p>}
    </div>
  );
}
