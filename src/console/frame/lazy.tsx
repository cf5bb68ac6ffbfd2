import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { route } from "../address.ts";
import { noAnswer } from "../api.ts";
import { Fault, LoadState } from "../parts/load-state.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { Page } from "../parts/page.tsx";
import { allScreens } from "./screens.ts";

export interface LazyScreen {
  Screen: ComponentType;
  /** Loads the code, once. After a failure the next call tries again. */
  prepare(): Promise<void>;
}

/** A screen whose code is loaded when it is first opened, or by `prepare` before. */
export function lazy(load: () => Promise<ComponentType>): LazyScreen {
  const loaded = signal<ComponentType | undefined>(undefined);
  let loading: Promise<void> | undefined;
  const prepare = () => {
    loading ??= load().then(
      (Content) => {
        loaded.value = Content;
      },
      (error: unknown) => {
        loading = undefined;
        throw error;
      },
    );
    return loading;
  };
  const Screen = () => (loaded.value === undefined ? <Loading prepare={prepare} /> : <loaded.value />);
  return { Screen, prepare };
}

/** Has the title of the screen already, if that does not depend on what the screen loads. */
function Loading({ prepare }: { prepare: () => Promise<void> }) {
  const code = useLoaded(() => prepare().catch(replacePage), []);
  const title = allScreens.find(({ path }) => path === route.value.path)?.name;
  // A browser may remember that an import failed, so a new page tries again.
  const state =
    code.error === undefined ? <LoadState of={code} /> : <Fault error={code.error} onRetry={() => location.reload()} />;
  return title === undefined ? <div class="page">{state}</div> : <Page title={title}>{state}</Page>;
}

/** The script of this page. Its name is another one in each version of the service. */
const ownScript = new URL(import.meta.url).pathname.split("/").at(-1) ?? "";

/**
 * Loads the page again if the service was replaced by another version since the page was loaded, so that the code of
 * this version is no longer there. Else throws an error for people.
 */
async function replacePage(): Promise<void> {
  const page = await fetch(location.href)
    .then((response) => (response.ok ? response.text() : ownScript))
    .catch(() => ownScript);
  if (page.includes(ownScript)) throw new Error(noAnswer);
  location.reload();
}
