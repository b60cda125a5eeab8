/** Checks that Wrangler accepts the built Worker and its configuration, without uploading it. */
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { tempFolder } from "../../../../../test/support/temp-folder.ts";

const HUB = join(import.meta.dirname, "../../..");
/** Wrangler is a dependency of @cloudflare/vitest-plugin. */
const WRANGLER = join(HUB, "../../node_modules/wrangler/bin/wrangler.js");

function dryRun(...args: string[]) {
  const folder = tempFolder();
  return promisify(execFile)(
    process.execPath,
    [WRANGLER, "deploy", "--dry-run", "--outdir", join(folder, "out"), ...args],
    {
      cwd: HUB,
      env: {
        PATH: process.env.PATH,
        HOME: folder,
        WRANGLER_SEND_METRICS: "false",
        CLOUDFLARE_CF_FETCH_ENABLED: "false",
      },
    },
  );
}

it.each([
  ["--env", "production"],
  ["--env", "preview"],
  // The top level, which `wrangler dev` runs without --env.
  ["--name", "another"],
])("the Worker can be deployed with %s %s", async (...args) => {
  const { stdout } = await dryRun(...args);
  for (const binding of ["TENANT_REGISTRY", "WEBHOOK_STORE", "WEBHOOK_MCP_AGENT", "ASSETS"])
    expect(stdout).toContain(`env.${binding}`);
  // The limit of Cloudflare's free plan is 3 MB.
  expect(Number(/gzip: ([\d.]+) KiB/.exec(stdout)?.[1])).toBeLessThan(2_000);
});

it("the Worker can be deployed to the custom domain in the comments of its configuration", async () => {
  const config = readFileSync(join(HUB, "wrangler.jsonc"), "utf8");
  const lines = /^ *\/\/ ("routes": .*|"workers_dev": false,)$/gm;
  expect(config.match(lines)).toHaveLength(2);
  const file = join(tempFolder(), "wrangler.jsonc");
  // Paths are relative to the configuration.
  writeFileSync(file, config.replace(lines, "$1").replaceAll('"dist/', `"${HUB}/dist/`));
  expect(readFileSync(file, "utf8")).toContain(
    '"routes": [{ "pattern": "hub.example.com", "custom_domain": true }],',
  );
  const { stdout, stderr } = await dryRun("--env", "production", "--config", file);
  expect(stdout).toContain("env.TENANT_REGISTRY");
  expect(stderr).toBe("");
});

it("the Worker cannot be deployed without --env or --name", async () => {
  await expect(dryRun()).rejects.toThrow("You need to provide the name of your worker");
});
