/** Tenants are isolated: no route and no tool shows one tenant what another tenant has. */
import { expect, it } from "vitest";
import { ADMIN, startApi } from "../support/api-client.ts";
import { SECRET } from "../support/deliver.ts";
import { walkTenants } from "../support/tenant-walk/walk.ts";

it.for(["SQLite", "PostgreSQL", "workerd"] as const)(
  "walks every route and every tool with another tenant's ids, on %s",
  async (backend) => {
    const { hub } = await startApi(backend, {
      SIGNALBOX_TENANCY: "github",
      SIGNALBOX_ALLOW_PRIVATE: "127.0.0.1",
    });
    const findings = await walkTenants({ url: hub.url, admin: ADMIN, githubSecret: SECRET });
    expect(findings.join("\n\n")).toBe("");
  },
);
