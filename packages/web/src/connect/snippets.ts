/** What to paste into each client to connect it to an MCP server of the hub. */
interface Server {
  name: string;
  url: string;
  token: string;
}

export interface Client {
  id: string;
  name: string;
  /** Where the snippet belongs. */
  where: string;
  snippet: (server: Server) => string;
}

const json = (value: unknown) => JSON.stringify(value, null, 2);
const bearer = (token: string) => `Bearer ${token}`;
/** For a POSIX shell. */
const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
const isLocal = (url: string) => /^http:\/\/(127\.0\.0\.1|localhost)[:/]/.test(url);

export const CLIENTS: readonly Client[] = [
  {
    id: "claude-code",
    name: "Claude Code",
    where: "Run it in the folder of your project.",
    snippet: ({ name, url, token }) =>
      `claude mcp add --transport http ${name} ${url} --header ${quote(`Authorization: ${bearer(token)}`)}`,
  },
  {
    id: "claude-desktop",
    name: "Claude Desktop",
    where:
      "Settings → Developer → Edit config: claude_desktop_config.json. It starts a proxy with npx.",
    snippet: ({ name, url, token }) =>
      json({
        mcpServers: {
          [name]: {
            command: "npx",
            args: [
              "-y",
              "mcp-remote",
              url,
              "--header",
              // biome-ignore lint/suspicious/noTemplateCurlyInString: the client replaces it
              "Authorization:${AUTH_HEADER}",
              ...(url.startsWith("https:") || isLocal(url) ? [] : ["--allow-http"]),
            ],
            env: { AUTH_HEADER: bearer(token) },
          },
        },
      }),
  },
  {
    id: "cursor",
    name: "Cursor",
    where: "~/.cursor/mcp.json, or .cursor/mcp.json in the project.",
    snippet: ({ name, url, token }) =>
      json({ mcpServers: { [name]: { url, headers: { Authorization: bearer(token) } } } }),
  },
  {
    id: "vscode",
    name: "VS Code",
    where: ".vscode/mcp.json in the project.",
    snippet: ({ name, url, token }) =>
      json({
        servers: { [name]: { type: "http", url, headers: { Authorization: bearer(token) } } },
      }),
  },
  {
    id: "http",
    name: "Plain HTTP",
    where: "Lists the tools. Any HTTP client can call them.",
    snippet: ({ url, token }) =>
      [
        `curl -sS ${url} \\`,
        `  -H ${quote(`Authorization: ${bearer(token)}`)} \\`,
        "  -H 'content-type: application/json' \\",
        "  -H 'accept: application/json, text/event-stream' \\",
        `  -d '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'`,
      ].join("\n"),
  },
];
