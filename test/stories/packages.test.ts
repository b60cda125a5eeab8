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
import { startHubProcess } from "../support/hub-process.ts";
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
    ["@signalbox/triggers", "@signalbox/bridge", "@signalbox/cli", "signalbox"].map(
      (name) => `${name}@${version}`,
    ),
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

it("the packed commands need no other package, and work with a hub on another machine", async () => {
  const folder = tempFolder();
  const file = join(releaseFolder, `signalbox-cli-${version}.tgz`);
  const flags = ["--offline", "--no-audit", "--no-fund", "--ignore-scripts"];
  await run("npm", ["install", ...flags, file], { cwd: folder });
  const installed = readdirSync(join(folder, "node_modules"), {
    recursive: true,
    encoding: "utf8",
  });
  expect(installed.filter((name) => name.endsWith("package.json"))).toEqual([
    join("@signalbox", "cli", "package.json"),
  ]);
  expect(installed.filter((name) => /\.(node|wasm|gyp)$/.test(name))).toEqual([]);
  const licenses = readFileSync(
    join(folder, "node_modules/@signalbox/cli/dist/THIRD-PARTY-LICENSES.txt"),
    "utf8",
  );
  expect(licenses.match(/^\S+(?= \d\S* \(.+\)$)/gm)).toContain("zod");

  const program = join(folder, "node_modules/.bin/signalbox-cli");
  const runProgram = (args: string[], env: Record<string, string> = {}) =>
    run(process.execPath, [program, ...args], {
      cwd: folder,
      env: { PATH: process.env.PATH, SIGNALBOX_EXEC_STATE: join(folder, "state"), ...env },
    });
  const { stdout: overview } = await runProgram(["--help"]);
  expect(overview).toContain(`signalbox-cli ${version}`);
  expect(overview.match(/^ {2}[\w-]+/gm)?.map((name) => name.trim())).toEqual([
    ...["open", "send", "events", "exec", "token", "source", "connection", "tenant", "flows"],
    ...["import-flows", "bridge"],
  ]);
  expect((await runProgram(["exec", "--help"])).stdout).toContain(
    `Usage: signalbox-cli exec [options] -- COMMAND`,
  );

  const secret = "sbx_admin_of_the_test";
  const data = tempFolder();
  const hub = await startHubProcess({ data, env: { SIGNALBOX_TOKEN: secret } });
  onTestFinished(async () => void (await hub.stop()));
  const admin = { SIGNALBOX_URL: hub.url, SIGNALBOX_TOKEN: secret };
  const { stdout: sent } = await runProgram(["send", "github", "issues"], admin);
  expect(sent).toMatch(/✓ 202 stored {2}event \S+, delivery \S+/);
  expect(sent).toContain(`${program} events`);
  await expect(runProgram(["send", "github", "nonsense"], admin)).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/There is no sample of type "nonsense" for GitHub/),
  });
  const { stdout: created } = await runProgram(["token", "create", "worker", "--json"], admin);
  const worker = { SIGNALBOX_URL: hub.url, SIGNALBOX_TOKEN: JSON.parse(created).token as string };
  const command = ["--shell", "--", 'echo "Seen: $SIGNALBOX_EVENT_TITLE"'];
  const { stdout: worked } = await runProgram(["exec", "--once", ...command], worker);
  expect(worked).toContain("Seen: The lamp stays red");
  const { stdout: listed } = await runProgram(["events", "--json"], worker);
  expect(JSON.parse(listed)).toMatchObject({ type: "issues", processed: true });
  const { stdout: added } = await runProgram(["source", "add", "stripe", "shop"], admin);
  expect(added).toContain("Stripe issues the secret.");
  await expect(runProgram(["source", "add", "nonsense"], admin)).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/Known kinds: github, /),
  });
  // On the machine of the hub, the file in the data folder has its address and a token.
  const { stdout: sources } = await runProgram(["source", "list", "--data", data]);
  expect(sources).toContain("shop");
  await hub.stop();
  await expect(runProgram(["source", "list", "--data", data])).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/No response from [^`]*Give the hub's address with --url/),
  });
});

it("the published packages contain the files and types that they export", async () => {
  const names = readdirSync(releaseFolder).filter((name) => name.endsWith(".tgz"));
  expect(names).toHaveLength(4);
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
