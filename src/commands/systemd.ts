import type { Command } from "commander";
import { runningProgram } from "./program.ts";

interface UnitOptions {
  user: string;
  envFile: string;
  dataDir: string;
}

export function systemdCommand(program: Command): void {
  program
    .command("systemd")
    .description("print a unit for systemd; write it to /etc/systemd/system/inboxd.service")
    .option("--user <name>", "the user of the service", "inboxd")
    .option("--env-file <path>", "the file with the settings, one NAME=value on each line", "/etc/inboxd/inboxd.env")
    .option(
      "--data-dir <path>",
      "the directory of the embedded database, sandbox mail and the generated certificate",
      "/var/lib/inboxd",
    )
    .action((options: UnitOptions) => {
      process.stdout.write(systemdUnit(runningProgram(), options));
    });
}

/**
 * A unit with only the rights that the service needs. It has no MemoryDenyWriteExecute: Bun compiles JavaScript to machine code
 * at run time, and would otherwise be many times slower.
 */
export function systemdUnit(program: readonly string[], { user, envFile, dataDir }: UnitOptions): string {
  // systemd creates directories below /var/lib for the user. Others must exist.
  const state = /^\/var\/lib\/([a-z0-9_-]+)\/?$/i.exec(dataDir)?.[1];
  return `# Once, before the first start:
#   useradd --system --home-dir ${dataDir} --shell /usr/sbin/nologin ${user}
#   install -D -m 0600 /dev/null ${envFile}     # then write the settings into it
${state === undefined ? `#   install -d -m 0700 -o ${user} ${dataDir}\n` : ""}#   systemctl daemon-reload && systemctl enable --now inboxd
# Keys and certificates that the settings name must be readable by ${user}.

[Unit]
Description=inboxd, email addresses over HTTP
After=network-online.target postgresql.service
Wants=network-online.target
StartLimitIntervalSec=0

[Service]
Type=exec
User=${user}
ExecStart=${program.map(quoted).join(" ")} serve
ExecReload=/bin/kill -HUP $MAINPID
EnvironmentFile=${envFile}
Environment=DATA_DIR=${dataDir} LOG_FORMAT=json
${state === undefined ? `ReadWritePaths=${dataDir}` : `StateDirectory=${state}\nStateDirectoryMode=0700`}
WorkingDirectory=/
Restart=always
RestartSec=2
# A restart does not correct wrong settings.
RestartPreventExitStatus=2
# More than SHUTDOWN_TIMEOUT_MS, so that running work can end.
TimeoutStopSec=40
KillMode=mixed
# When memory runs out, the kernel first kills the process that parses hostile mail. The service goes on.
OOMPolicy=continue
LimitNOFILE=65536
UMask=0077

# Port 25 without root.
AmbientCapabilities=CAP_NET_BIND_SERVICE
CapabilityBoundingSet=CAP_NET_BIND_SERVICE

NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
LockPersonality=yes
RemoveIPC=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallErrorNumber=EPERM
# No MemoryDenyWriteExecute: Bun compiles JavaScript to machine code at run time.

[Install]
WantedBy=multi-user.target
`;
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word)
    ? word.replaceAll("%", "%%")
    : `"${word.replaceAll("%", "%%").replace(/["\\]/g, "\\$&")}"`;
}
