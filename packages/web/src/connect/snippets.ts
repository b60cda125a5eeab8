/** The text to paste into each client, to connect it to an MCP server of the hub. */
interface Server {
  name: string;
  url: string;
  /** If it is undefined, the client signs in with OAuth. */
  token: string | undefined;
}

export interface Client {
  id: string;
  name: string;
  /** Where to paste the snippet, or what it does. */
  usage: string;
  /** How the client signs in if the snippet has no token. Undefined if the client cannot sign in. */
  signIn?: string;
  snippet: (server: Server) => string;
}

const json = (value: unknown) => JSON.stringify(value, null, 2);
const PLACEHOLDER = "YOUR_TOKEN";
const bearer = (token: string) => `Bearer ${token}`;
const headers = (token: string | undefined) =>
  token === undefined ? {} : { headers: { Authorization: bearer(token) } };
/** Quotes a text for a POSIX shell. */
const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
const isLocal = (url: string) => /^http:\/\/(127\.0\.0\.1|localhost)[:/]/.test(url);

export const CLIENTS: readonly Client[] = [
  {
    id: "claude-code",
    name: "Claude Code",
    usage: "Run it in the folder of your project.",
    signIn: "Then enter /mcp in Claude Code and sign in.",
    snippet: ({ name, url, token }) =>
      `claude mcp add --transport http ${name} ${url}${token === undefined ? "" : ` --header ${quote(`Authorization: ${bearer(token)}`)}`}`,
  },
  {
    id: "claude-desktop",
    name: "Claude Desktop",
    usage:
      "Settings → Developer → Edit config: claude_desktop_config.json. It starts a proxy with npx.",
    signIn: "The proxy opens your browser when Claude Desktop starts.",
    snippet: ({ name, url, token }) =>
      json({
        mcpServers: {
          [name]: {
            command: "npx",
            args: [
              "-y",
              "mcp-remote",
              url,
              // biome-ignore lint/suspicious/noTemplateCurlyInString: mcp-remote replaces it
              ...(token === undefined ? [] : ["--header", "Authorization:${AUTH_HEADER}"]),
              ...(url.startsWith("https:") || isLocal(url) ? [] : ["--allow-http"]),
            ],
            ...(token !== undefined && { env: { AUTH_HEADER: bearer(token) } }),
          },
        },
      }),
  },
  {
    id: "cursor",
    name: "Cursor",
    usage: "~/.cursor/mcp.json, or .cursor/mcp.json in the project.",
    signIn: "Cursor asks you to sign in when it connects.",
    snippet: ({ name, url, token }) => json({ mcpServers: { [name]: { url, ...headers(token) } } }),
  },
  {
    id: "vscode",
    name: "VS Code",
    usage: ".vscode/mcp.json in the project.",
    signIn: "VS Code asks you to sign in when it starts the server.",
    snippet: ({ name, url, token }) =>
      json({ servers: { [name]: { type: "http", url, ...headers(token) } } }),
  },
  {
    id: "http",
    name: "Plain HTTP",
    usage: "Lists the tools. Any HTTP client can call them.",
    snippet: ({ url, token = PLACEHOLDER }) =>
      [
        `curl -sS ${url} \\`,
        `  -H ${quote(`Authorization: ${bearer(token)}`)} \\`,
        "  -H 'content-type: application/json' \\",
        "  -H 'accept: application/json, text/event-stream' \\",
        `  -d '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'`,
      ].join("\n"),
  },
];
