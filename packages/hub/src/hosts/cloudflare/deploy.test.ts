/** Wrangler accepts the built Worker and its configuration. Nothing is uploaded. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { tempFolder } from "../../../../../test/support/temp-folder.ts";

const HUB = join(import.meta.dirname, "../../..");
/** It comes with @cloudflare/vitest-plugin. */
const WRANGLER = join(HUB, "../../node_modules/wrangler/bin/wrangler.js");

it.each(["production", "preview"])("can be deployed to %s", async (environment) => {
  const folder = tempFolder();
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [WRANGLER, "deploy", "--dry-run", "--env", environment, "--outdir", join(folder, "out")],
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
  for (const binding of ["TENANT_REGISTRY", "WEBHOOK_STORE", "WEBHOOK_MCP_AGENT", "ASSETS"])
    expect(stdout).toContain(`env.${binding}`);
  // The limit of Cloudflare's free plan is 3 MB.
  expect(Number(/gzip: ([\d.]+) KiB/.exec(stdout)?.[1])).toBeLessThan(2_000);
});
