/** Tenants are isolated: no route and no tool reveals the data of one tenant to another. */
import { expect, it, onTestFinished } from "vitest";
import { ADMIN, startApi } from "../support/api-client.ts";
import { SECRET } from "../support/deliver.ts";
import { startFakeGithub } from "../support/fake-github.ts";
import { walkTenants } from "../support/tenant-walk/walk.ts";

it.for(["SQLite", "PostgreSQL", "workerd"] as const)(
  "no route and no tool accepts ids of another tenant, on %s",
  { timeout: 600_000 },
  async (backend) => {
    // The access of people does not depend on the database, so one database on Node is enough.
    const github = backend === "PostgreSQL" ? undefined : await startFakeGithub();
    onTestFinished(() => github?.close());
    const { hub } = await startApi(backend, {
      ...github?.env,
      GITHUB_WEBHOOK_SECRET: SECRET,
      SIGNALBOX_TENANCY: "github",
      SIGNALBOX_ALLOW_PRIVATE: "127.0.0.1",
    });
    const hubUnderTest = { url: hub.url, admin: ADMIN, githubSecret: SECRET };
    const violations = await walkTenants(hubUnderTest, github);
    expect(violations.join("\n\n")).toBe("");
  },
);
