/** Checks that Wrangler accepts the built Worker and its configuration, without uploading it. */
import { execFile } from "node:child_process";
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

it("the Worker cannot be deployed without --env or --name", async () => {
  await expect(dryRun()).rejects.toThrow("You need to provide the name of your worker");
});
