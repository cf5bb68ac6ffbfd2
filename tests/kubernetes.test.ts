import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readConfig } from "../src/config.ts";

const house = join(import.meta.dir, "..");
const folder = join(house, "deploy/kubernetes");
const kubectl = Bun.which("kubectl");
if (kubectl === null) console.log("Skipped: how kubectl renders deploy/kubernetes, since the program is not here");

interface Container {
  name: string;
  image: string;
  args: string[];
  envFrom: (Record<"configMapRef", { name: string }> | Record<"secretRef", { name: string }>)[];
  ports: { name: string; containerPort: number }[];
  lifecycle: { preStop: { exec: { command: [string, string] } } };
  securityContext: unknown;
  volumeMounts: { mountPath: string }[];
}

interface Resource {
  kind: string;
  metadata: { name: string };
  // biome-ignore lint/suspicious/noExplicitAny: each kind has other fields
  spec: any;
}

const textOf = (file: string) => readFileSync(join(folder, file), "utf8");
const resourcesOf = (text: string) => [Bun.YAML.parse(text)].flat() as Resource[];
const written = ["deployment.yaml", "services.yaml", "scaling.yaml"].flatMap((file) => resourcesOf(textOf(file)));

describe("deploy/kubernetes", () => {
  /** The settings of a pod: those of the map, what the image sets, and the least that the secret has. */
  const config = readConfig({
    ...Object.fromEntries(
      Array.from(textOf("inboxd.env").matchAll(/^([A-Z_]+)=(.*)$/gm), ([, name = "", value = ""]) => [name, value]),
    ),
    HOST: "0.0.0.0",
    SMTP_HOST: "0.0.0.0",
    DATA_DIR: "/data",
    DATABASE_URL: "postgres://inboxd@database/inboxd",
    API_KEY: "a-key-of-twenty-characters",
  });
  const of = (kind: string, name = "inboxd") => found(written, kind, name).spec;
  const pod = of("Deployment").template;
  const [service] = pod.spec.containers as [Container];
  const [migration] = pod.spec.initContainers as [Container];

  test("its ports are those of the settings", () => {
    expect(Object.fromEntries(service.ports.map(({ name, containerPort }) => [name, containerPort]))).toEqual({
      api: config.port,
      smtp: config.smtpPort,
      metrics: Number(config.metricsPort),
    });
    expect(pod.metadata.annotations["prometheus.io/port"]).toBe(String(config.metricsPort));
    for (const name of ["inboxd-api", "inboxd-smtp"]) {
      for (const { targetPort } of of("Service", name).ports) {
        expect(service.ports.map((port) => port.name)).toContain(targetPort);
      }
    }
  });

  test("a pod has more time to stop than its pause and its work take", () => {
    const [program, pauseSeconds] = service.lifecycle.preStop.exec.command;
    expect(program).toBe("sleep");
    const longestMs = Number(pauseSeconds) * 1000 + config.shutdownTimeoutMs;
    expect(pod.spec.terminationGracePeriodSeconds * 1000).toBeGreaterThan(longestMs);
  });

  test("the schema is changed by the same image with the same settings, before a pod starts", () => {
    expect([migration.args, service.args]).toEqual([["migrate"], ["serve"]]);
    expect(migration.image).toBe(service.image);
    expect(migration.envFrom).toEqual(service.envFrom);
  });

  test("its containers have no rights, and write only where the image does", () => {
    const [, user] = /^USER (\d+):\1$/m.exec(readFileSync(join(house, "Dockerfile"), "utf8")) ?? [];
    expect(pod.spec.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: Number(user) });
    for (const { securityContext, volumeMounts } of [service, migration]) {
      expect(securityContext).toEqual({
        readOnlyRootFilesystem: true,
        allowPrivilegeEscalation: false,
        capabilities: { drop: ["ALL"] },
      });
      expect(volumeMounts.map(({ mountPath }) => mountPath)).toEqual(expect.arrayContaining([config.dataDir, "/tmp"]));
    }
  });

  test("mail keeps the address of its client, and each selector finds the pods", () => {
    expect(of("Service", "inboxd-smtp")).toMatchObject({ type: "LoadBalancer", externalTrafficPolicy: "Local" });
    const { labels } = pod.metadata;
    expect(of("Deployment").selector.matchLabels).toEqual(labels);
    expect(of("PodDisruptionBudget").selector.matchLabels).toEqual(labels);
    for (const name of ["inboxd-api", "inboxd-smtp"]) expect(of("Service", name).selector).toEqual(labels);
    expect(of("HorizontalPodAutoscaler").scaleTargetRef).toMatchObject({ kind: "Deployment", name: "inboxd" });
  });

  test.if(kubectl !== null)("is rendered by kubectl, with the image and the settings that it names", () => {
    const { stdout, stderr, exitCode } = Bun.spawnSync([kubectl ?? "", "kustomize", folder]);
    expect([exitCode, stderr.toString()]).toEqual([0, ""]);
    const rendered = resourcesOf(stdout.toString());
    expect(rendered.map(({ kind }) => kind).toSorted()).toEqual(
      [...written.map(({ kind }) => kind), "ConfigMap"].toSorted(),
    );
    const map = rendered.find(({ kind }) => kind === "ConfigMap")?.metadata.name;
    expect(map).toMatch(/^inboxd-[a-z\d]+$/);
    const { containers, initContainers } = found(rendered, "Deployment", "inboxd").spec.template.spec;
    for (const { image, envFrom } of [...containers, ...initContainers] as Container[]) {
      expect(image).toBe("registry.example.com/inboxd:0.1.0");
      expect(envFrom[0]).toEqual({ configMapRef: { name: map ?? "" } });
    }
  });
});

function found(resources: readonly Resource[], kind: string, name: string): Resource {
  const resource = resources.find((each) => each.kind === kind && each.metadata.name === name);
  if (resource === undefined) throw new Error(`There is no ${kind} ${name}`);
  return resource;
}
