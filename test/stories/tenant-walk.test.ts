/** Tenants are isolated: no route and no tool shows one tenant what another tenant has. */
import { expect, it, onTestFinished } from "vitest";
import { ADMIN, startApi } from "../support/api-client.ts";
import { SECRET } from "../support/deliver.ts";
import { startFakeGithub } from "../support/fake-github.ts";
import { walkTenants } from "../support/tenant-walk/walk.ts";

it.for(["SQLite", "PostgreSQL", "workerd"] as const)(
  "walks every route and every tool with another tenant's ids, on %s",
  { timeout: 600_000 },
  async (backend) => {
    // What people may do does not depend on the database of the hub on Node.
    const github = backend === "PostgreSQL" ? undefined : await startFakeGithub();
    onTestFinished(() => github?.close());
    const { hub } = await startApi(backend, {
      ...github?.env,
      GITHUB_WEBHOOK_SECRET: SECRET,
      SIGNALBOX_TENANCY: "github",
      SIGNALBOX_ALLOW_PRIVATE: "127.0.0.1",
    });
    const walked = { url: hub.url, admin: ADMIN, githubSecret: SECRET };
    const findings = await walkTenants(walked, github);
    expect(findings.join("\n\n")).toBe("");
  },
);
