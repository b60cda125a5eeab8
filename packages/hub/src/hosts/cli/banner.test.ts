import { describe, expect, it } from "vitest";
import { readSettings } from "../../settings.ts";
import type { RunningHub } from "../node/start-hub.ts";
import { formatBanner } from "./banner.ts";

const bannerOf = (env: Record<string, string>, hub: Partial<RunningHub> = {}) => {
  const settings = readSettings({ flags: {}, env, file: {} });
  const url = hub.url ?? "http://127.0.0.1:4747";
  return formatBanner(
    {
      url,
      localUrl: url,
      publicUrl: settings.publicUrl ?? url,
      hasOperatorToken: true,
      ...hub,
    } as RunningHub,
    settings,
    "1.2.3",
  );
};

describe("the banner", () => {
  it("does not show the unspecified address, to which clients cannot connect", () => {
    for (const [HOST, url] of [
      ["0.0.0.0", "http://0.0.0.0:4747"],
      ["::", "http://[::]:4747"],
    ] as const) {
      const text = bannerOf({ HOST }, { url, localUrl: "http://127.0.0.1:4747" });
      expect(text).not.toContain(url);
      expect(text).toMatch(/Open +http:\/\/127\.0\.0\.1:4747\n/);
      expect(text).toMatch(/Payload URL +<.*>\/webhooks\/github/);
      expect(text).toContain("SIGNALBOX_PUBLIC_URL");
    }
  });

  it("shows the admin token once, and a placeholder in the MCP configuration", () => {
    const text = bannerOf({}, { adminToken: "sbx_hidden" });
    expect(text.split("sbx_hidden")).toHaveLength(2);
    expect(text).toContain('"url": "http://127.0.0.1:4747/mcp"');
    expect(text).toContain("Bearer <token>");
    expect(text).toMatch(/<token>.*signalbox token create/s);
  });

  it("shows the command that creates an admin token for all tenants if none is active", () => {
    expect(bannerOf({})).not.toContain("No admin token");
    expect(bannerOf({ SIGNALBOX_DATA: "/var/lib/hub" }, { hasOperatorToken: false })).toMatch(
      /! No admin token for all tenants is active\. .*:\n +npx signalbox token create operator --scope admin --tenant '\*' --data \/var\/lib\/hub\n/,
    );
  });

  it("shows the configuration with sign-in by browser before the one with a token", () => {
    expect(bannerOf({})).toMatch(
      /claude mcp add --transport http signalbox http:\/\/127\.0\.0\.1:4747\/mcp\n.*Bearer <token>/s,
    );
  });

  it("prints commands that find this hub from another terminal", () => {
    expect(bannerOf({})).toContain("npx signalbox send github issues --action opened\n");
    const elsewhere = bannerOf({ SIGNALBOX_DATA: "/var/lib/my hub" });
    expect(elsewhere).toContain("send github issues --action opened --data '/var/lib/my hub'\n");
    expect(elsewhere).toContain("token create NAME --data '/var/lib/my hub' creates");
    expect(bannerOf({ SIGNALBOX_DATA: "/var/lib/hub" }, { adminToken: "sbx_hidden" })).toContain(
      "`npx signalbox token create NAME --data /var/lib/hub` creates others.",
    );
    expect(bannerOf({ SIGNALBOX_TENANCY: "github" })).toContain(
      "send github issues --action opened --tenant ACCOUNT_ID\n",
    );
  });

  it("describes the GitHub App instead of a repository's webhook if every account is a tenant", () => {
    const env = { SIGNALBOX_TENANCY: "github", SIGNALBOX_PUBLIC_URL: "https://hub.example" };
    const text = bannerOf(env);
    expect(text).not.toContain("Add webhook");
    expect(text).toContain("Developer settings → GitHub Apps");
    expect(text).toMatch(/Webhook URL +https:\/\/hub\.example\/webhooks\/github\n/);
    expect(text).toMatch(/Callback URL +https:\/\/hub\.example\/oauth\/callback\n/);
    expect(text).toMatch(/Install +.*set GITHUB_APP_SLUG/);
    expect(
      bannerOf({ ...env, GITHUB_APP_SLUG: "my-app", GITHUB_URL: "https://ghe.example/" }),
    ).toMatch(/Install +https:\/\/ghe\.example\/apps\/my-app\/installations\/new\n/);
    expect(bannerOf({})).toMatch(/Settings → Webhooks → Add webhook/);
  });

  it("shows an MCP configuration for one of many tenants, which the admin token needs", () => {
    const env = { SIGNALBOX_TENANCY: "github", SIGNALBOX_PUBLIC_URL: "https://hub.example" };
    const text = bannerOf(env, { tenant: { id: "100", name: "acme" } });
    expect(text).toContain('"url": "https://hub.example/mcp?tenant=100"');
    expect(text).toContain("token create NAME --tenant 100 creates the <token>");
    expect(text).toMatch(/Tenant 100 is acme; `npx signalbox tenant list` lists all/);
    const empty = bannerOf(env);
    expect(empty).toContain('"url": "https://hub.example/mcp"');
    expect(empty).toContain("add ?tenant=ID when there are tenants");
    const single = bannerOf({}, { tenant: { id: "local", name: null } });
    expect(single).not.toContain("?tenant=");
  });

  it("warns that GITHUB_CLIENT_ID has no effect with one tenant", () => {
    const env = { GITHUB_CLIENT_ID: "Iv23liabc", GITHUB_CLIENT_SECRET: "abcdef" };
    expect(bannerOf(env)).toMatch(/GITHUB_CLIENT_ID has no effect.*SIGNALBOX_TENANCY=github/s);
    expect(bannerOf({ ...env, SIGNALBOX_TENANCY: "github" })).not.toContain("no effect");
    expect(bannerOf({})).not.toContain("no effect");
  });

  it("warns that people cannot sign in with GitHub without GITHUB_CLIENT_ID", () => {
    const env = { SIGNALBOX_TENANCY: "github" };
    const warning = /cannot sign in with GitHub.*GITHUB_CLIENT_ID and GITHUB_CLIENT_SECRET/s;
    expect(bannerOf(env)).toMatch(warning);
    const client = { GITHUB_CLIENT_ID: "Iv23liabc", GITHUB_CLIENT_SECRET: "abcdef" };
    expect(bannerOf({ ...env, ...client })).not.toMatch(warning);
    expect(bannerOf({})).not.toMatch(warning);
  });

  it("warns if a hub with a public URL has no proxy header", () => {
    const env = { SIGNALBOX_PUBLIC_URL: "https://hub.example" };
    expect(bannerOf(env)).toMatch(/SIGNALBOX_PROXY_HEADER.*GITHUB_IP_ALLOWLIST=off/s);
    expect(bannerOf({ ...env, SIGNALBOX_PROXY_HEADER: "x-forwarded-for" })).not.toContain(
      "ALLOWLIST",
    );
    expect(bannerOf({ ...env, GITHUB_IP_ALLOWLIST: "off" })).not.toContain("ALLOWLIST");
    expect(bannerOf({})).not.toContain("ALLOWLIST");
  });
});
