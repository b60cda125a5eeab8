import {
  bold,
  cyan,
  dim,
  green,
  program,
  quoteForShell,
  sameHubFlags,
  yellow,
} from "@signalbox/cli/src/index.ts";
import { githubSettings } from "../../github-settings.ts";
import { lacksProxyHeader } from "../../hub-settings.ts";
import type { Settings } from "../../settings.ts";
import { CREATE_OPERATOR_TOKEN } from "../../tokens/operator-token.ts";
import type { RunningHub } from "../node/start-hub.ts";

/** Formats the text that `serve` prints: addresses, warnings, and lines to paste into other programs. */
export function formatBanner(hub: RunningHub, settings: Settings, version: string): string {
  const { local, sender } = addressesOf(hub, settings);
  const command = (text: string) => commandFor(text, settings);
  const tenant = settings.tenancy === "github" ? hub.tenant : undefined;
  const tenantFlag =
    settings.tenancy === "github"
      ? ` --tenant ${tenant ? quoteForShell(tenant.id) : "ACCOUNT_ID"}`
      : "";
  const tenantQuery = tenant ? `?tenant=${encodeURIComponent(tenant.id)}` : "";
  const label = (text: string) => dim(text.padEnd(10));
  const lines = [
    "",
    `  ${green("●")} ${bold("Signalbox")} ${dim(version)}`,
    "",
    `  ${label("Open")}${cyan(local)}`,
    `  ${label("Sign in")}${cyan(`${local}${hub.signInPath}`)}`,
    `  ${label("")}${dim(`Valid once, for 10 minutes. \`${command("open")}\` prints a new link.`)}`,
    `  ${label("Webhooks")}${cyan(`${local}/webhooks/github`)}`,
    `  ${label("Storage")}${describeStorage(settings)}`,
    "",
  ];
  if (hub.adminToken)
    lines.push(
      `  ${label("Token")}${bold(hub.adminToken)}`,
      `  ${label("")}${dim(`The admin token is shown only once: keep it. \`${command(`token create NAME${tenantFlag}`)}\` creates others.`)}`,
      "",
    );
  if (!hub.hasOperatorToken)
    lines.push(
      `  ${yellow("! No admin token for all tenants")} is active. This command creates one:`,
      `    ${operatorTokenCommand(settings)}`,
      "",
    );
  if (hub.acceptsUnsigned)
    lines.push(
      `  ${yellow("! Unsigned:")} any program on this machine can send webhooks of sources without a secret. Set GITHUB_WEBHOOK_SECRET.`,
      "",
    );
  if (settings.tenancy === "single" && settings.githubClientId !== undefined)
    lines.push(
      `  ${yellow("! GITHUB_CLIENT_ID has no effect")} with one tenant: set SIGNALBOX_TENANCY=github to let people sign in with GitHub.`,
      "",
    );
  if (settings.tenancy === "github" && settings.githubClientId === undefined)
    lines.push(
      `  ${yellow("! People cannot sign in with GitHub,")} only you with the link above: set GITHUB_CLIENT_ID and GITHUB_CLIENT_SECRET.`,
      "",
    );
  if (lacksProxyHeader(settings))
    lines.push(
      `  ${yellow("! Behind a tunnel or proxy,")} the hub rejects GitHub's webhooks, because they come from the address of the proxy:`,
      "    set SIGNALBOX_PROXY_HEADER (such as x-forwarded-for), or GITHUB_IP_ALLOWLIST=off.",
      "",
    );
  lines.push(
    `  ${bold("First event")}   ${dim("in another terminal, in this folder")}`,
    `    ${command(`send github issues --action opened${tenantFlag}`)}`,
    "",
    ...(settings.tenancy === "github"
      ? describeApp(sender, settings)
      : describeWebhook(sender, settings)),
    ...(settings.publicUrl
      ? []
      : [
          dim(
            settings.isPublic
              ? "    Set SIGNALBOX_PUBLIC_URL to the address at which GitHub reaches this hub."
              : "    GitHub cannot reach this machine: use a tunnel, and set SIGNALBOX_PUBLIC_URL to its address.",
          ),
        ]),
    "",
    `  ${bold("MCP client")}   ${dim("signs in by browser: in Claude Code, enter /mcp afterwards")}`,
    `    claude mcp add --transport http signalbox ${local}/mcp`,
    "",
    `  ${bold("MCP client without a browser")}   ${dim(".mcp.json, or your client's configuration file")}`,
    `    { "mcpServers": { "signalbox": { "type": "http", "url": "${local}/mcp${tenantQuery}",`,
    '        "headers": { "Authorization": "Bearer <token>" } } } }',
    dim(`    ${command(`token create NAME${tenantFlag}`)} creates the <token>.`),
    ...(settings.tenancy === "github" ? [dim(`    ${describeTenant(tenant, command)}`)] : []),
    "",
    dim("  Ctrl+C stops the hub after it has finished the accepted requests."),
    "",
  );
  return lines.join("\n");
}

/** Returns the command, as another terminal can run it for this hub. */
const commandFor = (text: string, settings: Settings): string =>
  `${program} ${text}${sameHubFlags(settings, ["flag", "environment"])}`;

/** Returns the command that creates an admin token for all tenants. */
export const operatorTokenCommand = (settings: Settings): string =>
  commandFor(CREATE_OPERATOR_TOKEN, settings);

/** The admin token is valid for all tenants, so its clients must choose one. */
const describeTenant = (tenant: RunningHub["tenant"], command: (text: string) => string): string =>
  tenant
    ? `Tenant ${tenant.id}${tenant.name === null ? "" : ` is ${tenant.name}`}; \`${command("tenant list")}\` lists all. The admin token needs ?tenant=.`
    : "With the admin token, add ?tenant=ID when there are tenants: the tools list them.";

const describeWebhook = (sender: string, settings: Settings): string[] => [
  `  ${bold("GitHub")}   ${dim("Settings → Webhooks → Add webhook")}`,
  `    Payload URL    ${sender}/webhooks/github`,
  "    Content type   application/json",
  `    Secret         ${describeSecret(settings)}`,
];

/**
 * With several tenants, only the webhooks of the GitHub App can be used: webhooks of a repository do not
 * name an installation, so they have no tenant.
 */
function describeApp(sender: string, settings: Settings): string[] {
  const { url, slug } = githubSettings(settings);
  const install = slug
    ? `${url}/apps/${slug}/installations/new`
    : "Install App, on the page of the App; set GITHUB_APP_SLUG to see the link here";
  return [
    `  ${bold("GitHub App")}   ${dim("Settings → Developer settings → GitHub Apps")}`,
    `    Webhook URL      ${sender}/webhooks/github`,
    `    Webhook secret   ${describeSecret(settings)}`,
    `    Callback URL     ${sender}/oauth/callback`,
    `    Install          ${install}`,
  ];
}

const describeSecret = ({ secrets }: Settings): string =>
  secrets.github?.length
    ? "the value of GITHUB_WEBHOOK_SECRET"
    : "generate one (openssl rand -hex 32) and start the hub with GITHUB_WEBHOOK_SECRET=…";

/**
 * Returns the hub's addresses for clients on this machine and for senders on other machines. Without a
 * public URL, the address for senders is unknown if the hub listens on all addresses.
 */
function addressesOf(hub: RunningHub, { publicUrl }: Settings) {
  if (publicUrl) return { local: hub.publicUrl, sender: hub.publicUrl };
  const local = hub.localUrl;
  return { local, sender: local === hub.url ? local : "<address of this machine>" };
}

const describeStorage = (settings: Settings) =>
  settings.databaseUrl.startsWith("sqlite:")
    ? `SQLite ${dim(settings.databaseUrl === "sqlite:" ? `in ${settings.data}/` : settings.databaseUrl.slice("sqlite:".length))}`
    : "PostgreSQL";
