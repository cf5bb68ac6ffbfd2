import { errorText } from "../api.ts";
import { notify } from "../frame/notice.tsx";

/** Runs what a person asked for, and shows the text that it resolves to, or why it failed. `after` runs in both cases. */
export async function act(action: () => Promise<string>, after: () => void): Promise<void> {
  try {
    notify(await action());
  } catch (error) {
    notify(errorText(error), "bad");
  }
  after();
}
