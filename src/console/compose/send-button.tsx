/** Each system names its key for orders in its own way. */
const keys = /Mac|iPhone|iPad/.test(navigator.userAgent) ? "⌘ ⏎" : "Ctrl ⏎";

export function SendButton({ isDisabled }: { isDisabled: boolean }) {
  return (
    <button type="submit" class="primary" disabled={isDisabled}>
      Send
      <kbd class="in-button">{keys}</kbd>
    </button>
  );
}
