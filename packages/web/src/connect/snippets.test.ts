import { expect, it } from "vitest";
import { CLIENTS } from "./snippets.ts";

const server = { name: "signalbox", url: "http://127.0.0.1:4747/mcp", token: "sbx_it's" };
const snippetOf = (id: string, overrides = {}) =>
  CLIENTS.find((client) => client.id === id)?.snippet({ ...server, ...overrides }) ?? "";

it("quotes the token for the shell", () => {
  expect(snippetOf("claude-code")).toBe(
    `claude mcp add --transport http signalbox http://127.0.0.1:4747/mcp --header 'Authorization: Bearer sbx_it'\\''s'`,
  );
});

it.each(["claude-desktop", "cursor", "vscode"])(
  "returns JSON with the URL and the token for %s",
  (id) => {
    const text = snippetOf(id);
    expect(() => JSON.parse(text)).not.toThrow();
    expect(text).toContain(server.url);
    expect(text).toContain("Bearer sbx_it's");
  },
);

it("passes --allow-http only for a hub on another machine without TLS", () => {
  expect(snippetOf("claude-desktop")).not.toContain("--allow-http");
  expect(snippetOf("claude-desktop", { url: "http://10.0.0.5:4747/mcp" })).toContain(
    "--allow-http",
  );
});

it.each(CLIENTS.filter(({ signIn }) => signIn !== undefined).map(({ id }) => id))(
  "leaves out the token for %s, which signs in",
  (id) => {
    const text = snippetOf(id, { token: undefined });
    expect(text).toContain(server.url);
    expect(text).not.toMatch(/authorization|token|undefined/i);
    if (id !== "claude-code") expect(() => JSON.parse(text)).not.toThrow();
  },
);

it("inserts a placeholder for the token of a client that cannot sign in", () => {
  expect(snippetOf("http", { token: undefined })).toContain("Bearer YOUR_TOKEN");
});
