/** The scripts of a release: they pack the packages, and publish them in a dry run. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from "vitest";
import { fixedPort } from "../support/fixed-port.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { WAIT } from "../support/timeouts.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));
const { version } = JSON.parse(readFileSync(join(root, "packages/hub/package.json"), "utf8"));

const scriptPath = (name: string) => join(root, "scripts/release", name);
let releaseFolder: string;
beforeAll(async () => {
  releaseFolder = mkdtempSync(join(tmpdir(), "signalbox-release-"));
  await run(process.execPath, [scriptPath("pack.ts"), releaseFolder]);
});
afterAll(() => rmSync(releaseFolder, { recursive: true, force: true }));

it("a release is published in a dry run, and the packed hub starts as in the Docker image", async () => {
  const { stdout } = await run(process.execPath, [
    scriptPath("publish.ts"),
    `v${version}`,
    releaseFolder,
    "--dry-run",
  ]);
  expect(stdout.match(/^\S+/gm)).toEqual(
    ["@signalbox/triggers", "@signalbox/bridge", "signalbox"].map((name) => `${name}@${version}`),
  );
  expect(existsSync(join(releaseFolder, "signalbox.mcpb"))).toBe(true);

  const app = tempFolder();
  const image = readDockerfile(readFileSync(join(releaseFolder, "Dockerfile"), "utf8"));
  expect(image.user).toBe("node");
  for (const name of ["signalbox", "@signalbox/bridge"]) await install(releaseFolder, name, app);
  const readLicensedPackages = (folder: string) => {
    const path = join(app, "node_modules", folder, "THIRD-PARTY-LICENSES.txt");
    return readFileSync(path, "utf8").match(/^\S+(?= \d\S* \(.+\)$)/gm);
  };
  expect(readLicensedPackages("signalbox/dist")).toEqual(
    expect.arrayContaining(["hono", "jose", "zod"]),
  );
  expect(readLicensedPackages("signalbox/dist/worker")).toEqual(
    expect.arrayContaining(["hono", "jose", "zod"]),
  );
  expect(readLicensedPackages("@signalbox/bridge/dist")).toEqual(expect.arrayContaining(["zod"]));
  // A package of the page, a package of its web worker, and a font.
  expect(readLicensedPackages("signalbox/dist/web")).toEqual(
    expect.arrayContaining(["react", "@dagrejs/dagre", "@fontsource-variable/archivo"]),
  );
  const port = await fixedPort();
  const env = {
    ...image.env,
    PATH: process.env.PATH ?? "",
    HOST: "127.0.0.1",
    PORT: port,
    SIGNALBOX_DATA: tempFolder(),
  };
  const [, ...args] = image.command;
  const hub = spawn(process.execPath, args, { cwd: app, env, stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void hub.kill("SIGKILL"));
  let output = "";
  for (const stream of [hub.stdout, hub.stderr])
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
  const [, ...healthcheck] = image.healthcheck;
  await vi
    .waitFor(() => run(process.execPath, healthcheck, { env }), WAIT)
    .catch((error) => {
      throw new Error(`${error.message}\n${output}`);
    });
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toContain('<div id="root">');
  const ended = once(hub, "exit");
  hub.kill("SIGTERM");
  expect((await ended)[0]).toBe(0);
  await expect(run(process.execPath, healthcheck, { env })).rejects.toThrow();
});

it("the published packages contain the files and types that they export", async () => {
  const names = readdirSync(releaseFolder).filter((name) => name.endsWith(".tgz"));
  expect(names).toHaveLength(3);
  const check = (tool: string, ...args: string[]) =>
    run(join(root, "node_modules/.bin", tool), args).catch(({ stdout, stderr }) => {
      throw new Error(`${tool} ${args.join(" ")}\n${stdout}${stderr}`);
    });
  for (const name of names) {
    const file = join(releaseFolder, name);
    await check("publint", "--strict", file);
    // The packages are ES modules only.
    await check("attw", "--profile", "esm-only", file);
  }
});

/** Unpacks a package, and links only its declared dependencies, so that an undeclared one is missing. */
async function install(releaseFolder: string, name: string, app: string): Promise<void> {
  const folder = tempFolder();
  const file = `${name.replace("@", "").replace("/", "-")}-${version}.tgz`;
  await run("tar", ["xzf", join(releaseFolder, file), "-C", folder]);
  const unpacked = join(folder, "package");
  const readLicense = (path: string) => readFileSync(join(path, "LICENSE"), "utf8");
  expect(readLicense(unpacked)).toBe(readLicense(root));
  const target = join(app, "node_modules", name);
  mkdirSync(dirname(target), { recursive: true });
  renameSync(unpacked, target);
  const { dependencies = {} } = JSON.parse(readFileSync(join(target, "package.json"), "utf8"));
  for (const dependency of Object.keys(dependencies)) {
    const link = join(app, "node_modules", dependency);
    if (dependency.startsWith("@signalbox/") || existsSync(link)) continue;
    mkdirSync(dirname(link), { recursive: true });
    const copyOfHub = join(root, "packages/hub/node_modules", dependency);
    symlinkSync(existsSync(copyOfHub) ? copyOfHub : join(root, "node_modules", dependency), link);
  }
}

/** Returns the instructions of the last stage. */
function readDockerfile(text: string) {
  const stage =
    text
      .replaceAll(/\\\n\s*/g, "")
      .split(/^FROM .*$/m)
      .at(-1) ?? "";
  const readArguments = (pattern: RegExp) => stage.match(pattern)?.[1] ?? "";
  const readJson = (pattern: RegExp): string[] => JSON.parse(readArguments(pattern));
  return {
    user: readArguments(/^USER (.*)$/m),
    env: Object.fromEntries(
      readArguments(/^ENV (.*)$/m)
        .split(" ")
        .map((pair) => pair.split("=")),
    ) as Record<string, string>,
    healthcheck: readJson(/^HEALTHCHECK .*CMD (.*)$/m),
    command: [...readJson(/^ENTRYPOINT (.*)$/m), ...readJson(/^CMD (.*)$/m)],
  };
}

it("the lock file has a hash for every dependency", () => {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
    packages: Record<string, { integrity?: string; link?: boolean; inBundle?: boolean }>;
  };
  const withoutHash = Object.entries(packages).filter(
    ([path, { integrity, link, inBundle }]) =>
      // A bundled package is in the archive of the package that contains it.
      path.includes("node_modules/") && !link && !inBundle && !integrity,
  );
  expect(withoutHash.map(([path]) => path)).toEqual([]);
});
