import { href, route } from "../address.ts";
import { connection } from "../api.ts";
import { Icon, Mark } from "../parts/icon.tsx";
import { account, may, signOut } from "../session.ts";
import { openGoTo } from "./go-to.tsx";
import { isHelpOpen } from "./help.tsx";
import { offeredScreens } from "./screens.ts";
import { changeTheme, isMac, theme } from "./theme.ts";

export function Navigation() {
  const at = route.value.path.split("/")[0] ?? "";
  const themeName = { system: "System", light: "Light", dark: "Dark" }[theme.value];
  return (
    <nav id="navigation" aria-label="Console">
      <a class="brand" href={href("")}>
        <Mark />
        inboxd
      </a>
      {may("send") && (
        <a class="button primary write" href={href("compose")} aria-current={at === "compose" ? "page" : undefined}>
          <Icon name="compose" />
          Write
        </a>
      )}
      {offeredScreens().map((group) => (
        <ul key={group[0]?.path}>
          {group.map(({ path, name, icon, also = [] }) => (
            <li key={path}>
              <a href={href(path)} aria-current={at === path || also.includes(at) ? "page" : undefined}>
                <Icon name={icon} />
                {name}
              </a>
            </li>
          ))}
        </ul>
      ))}
      <div class="navigation-foot">
        {may("read") && <ConnectionDot />}
        <p class="whose" title={account.value?.id}>
          {account.value?.name ?? "account"}
          <span>{account.value?.mailDomain}</span>
        </p>
        <div class="tools">
          {may("read") && (
            <button
              type="button"
              class="quiet"
              aria-label="Go to"
              title={isMac ? "Go to (⌘ K)" : "Go to (Ctrl K)"}
              onClick={openGoTo}
            >
              <Icon name="search" />
            </button>
          )}
          <button
            type="button"
            class="quiet"
            onClick={changeTheme}
            aria-label={`Theme: ${themeName}`}
            title={`Theme: ${themeName}`}
          >
            <Icon name={theme.value} />
          </button>
          <button
            type="button"
            class="quiet"
            aria-label="Shortcuts"
            title="Shortcuts (?)"
            onClick={() => {
              isHelpOpen.value = true;
            }}
          >
            <Icon name="help" />
          </button>
          <button type="button" class="quiet" onClick={() => void signOut()} aria-label="Sign out" title="Sign out">
            <Icon name="leave" />
          </button>
        </div>
      </div>
    </nav>
  );
}

const connectionWords = {
  stream: ["Live", "Events are shown as they happen"],
  log: ["Polling", "There is no stream, so new events are loaded every few seconds"],
  away: ["Offline", "The service does not answer. Trying again"],
} as const;

function ConnectionDot() {
  const [word, about] = connectionWords[connection.value];
  return (
    <p class={`connection is-${connection.value}`} title={about} role="status">
      <span class="dot" aria-hidden="true" />
      {word}
    </p>
  );
}
