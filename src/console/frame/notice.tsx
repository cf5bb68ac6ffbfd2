import { signal } from "@preact/signals";

interface NoticeAction {
  /** The text of its button. */
  verb: string;
  run(): void;
}

const notice = signal<{ text: string; tone: "good" | "bad"; action?: NoticeAction | undefined } | undefined>(undefined);
let timer: ReturnType<typeof setTimeout> | undefined;

/** Shows the result of an action for six seconds. */
export function notify(text: string, tone: "good" | "bad" = "good", action?: NoticeAction): void {
  clearTimeout(timer);
  notice.value = { text, tone, action };
  timer = setTimeout(() => {
    notice.value = undefined;
  }, 6_000);
}

export function Notice() {
  const { text, tone, action } = notice.value ?? {};
  return (
    <div class="notices" role="status">
      {text !== undefined && (
        <p class={`notice is-${tone}`}>
          {text}
          {action && (
            <button
              type="button"
              class="link"
              onClick={() => {
                notice.value = undefined;
                action.run();
              }}
            >
              {action.verb}
            </button>
          )}
        </p>
      )}
    </div>
  );
}
