import type { Hub } from "../node/hub.ts";
import type { Settings } from "../settings.ts";
import { bold, cyan, dim, green, yellow } from "./style.ts";

/** What a person wants to know when the hub has started, and the lines to paste elsewhere. */
export function banner(hub: Hub, settings: Settings, version: string): string {
  const webhook = `${hub.publicUrl}/webhooks/github`;
  const label = (text: string) => dim(text.padEnd(10));
  const lines = [
    "",
    `  ${green("●")} ${bold("Signalbox")} ${dim(version)}`,
    "",
    `  ${label("Open")}${cyan(hub.publicUrl)}`,
    `  ${label("Webhooks")}${cyan(webhook)}`,
    `  ${label("Storage")}${storageWords(settings)}`,
    "",
  ];
  if (hub.adminToken)
    lines.push(
      `  ${label("Token")}${bold(hub.adminToken)}`,
      `  ${label("")}${dim("the admin token: shown once, now. Keep it; `signalbox token create` makes others.")}`,
      "",
    );
  if (hub.unsigned)
    lines.push(
      `  ${yellow("! Unsigned:")} no GITHUB_WEBHOOK_SECRET is set, so webhooks are taken from anybody on this machine.`,
      "",
    );
  lines.push(
    `  ${bold("First event")}   ${dim("in another terminal")}`,
    "    npx signalbox send github issues --action opened",
    "",
    `  ${bold("GitHub")}   ${dim("Settings → Webhooks → Add webhook")}`,
    `    Payload URL    ${webhook}`,
    "    Content type   application/json",
    `    Secret         ${settings.secrets.github?.length ? "the value of GITHUB_WEBHOOK_SECRET" : "make one (openssl rand -hex 32) and start the hub with GITHUB_WEBHOOK_SECRET=…"}`,
    ...(hub.publicUrl.includes("127.0.0.1")
      ? [
          dim(
            "    GitHub cannot reach 127.0.0.1: use a tunnel, and set SIGNALBOX_PUBLIC_URL to its address.",
          ),
        ]
      : []),
    "",
    `  ${bold("MCP client")}   ${dim(".mcp.json, or your client's own file")}`,
    `    { "mcpServers": { "signalbox": { "type": "http", "url": "${hub.publicUrl}/mcp",`,
    `        "headers": { "Authorization": "Bearer ${hub.adminToken ?? "<token>"}" } } } }`,
    "",
    dim("  Ctrl+C stops it; what was accepted is finished first."),
    "",
  );
  return lines.join("\n");
}

const storageWords = (settings: Settings) =>
  settings.databaseUrl.startsWith("sqlite:")
    ? `SQLite ${dim(settings.databaseUrl === "sqlite:" ? `in ${settings.data}/` : settings.databaseUrl.slice(7))}`
    : "PostgreSQL";
