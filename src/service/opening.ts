import type { Config } from "../config.ts";
import type { Deps } from "../flows/deps.ts";
import type { Watch } from "../metrics/watch.ts";
import type { Closers } from "./closers.ts";

/** What each part of the service is opened with. What it opens it pushes on `opened`, for the stop. */
export interface Opening {
  config: Config;
  deps: Deps;
  watch: Watch;
  opened: Closers;
}
