import { signal } from "@preact/signals";

const notice = signal<{ text: string; tone: "good" | "bad" } | undefined>(undefined);
let timer: ReturnType<typeof setTimeout> | undefined;

/** Shows the result of an action for six seconds. */
export function notify(text: string, tone: "good" | "bad" = "good"): void {
  clearTimeout(timer);
  notice.value = { text, tone };
  timer = setTimeout(() => {
    notice.value = undefined;
  }, 6_000);
}

export function Notice() {
  return (
    <div class="notices" role="status">
      {notice.value && <p class={`notice is-${notice.value.tone}`}>{notice.value.text}</p>}
    </div>
  );
}
