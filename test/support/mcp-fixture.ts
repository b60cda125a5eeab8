/**
 * An MCP server with the tools, resources and prompts that the conformance suite requires. The hub's own
 * sessions, routes, authorization and host check serve it, so that the suite tests them.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import {
  type CallToolResult,
  createMcpHandler,
  type GetPromptResult,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  Server,
} from "@modelcontextprotocol/server";
import { Hono } from "hono";
import { createAuthorizeRequest } from "../../packages/hub/src/kernel/access/authorize-request.ts";
import { createAuthorizer } from "../../packages/hub/src/kernel/access/authorizer.ts";
import { openSqlite } from "../../packages/hub/src/kernel/backends/sqlite.ts";
import { createHostCheck } from "../../packages/hub/src/kernel/http/host-check.ts";
import { createOpenStreams } from "../../packages/hub/src/kernel/mcp/open-streams.ts";
import { readCall } from "../../packages/hub/src/kernel/mcp/read-call.ts";
import { serveCall } from "../../packages/hub/src/kernel/mcp/request-context.ts";
import { createResourceChanges } from "../../packages/hub/src/kernel/mcp/resource-changes.ts";
import {
  createSessions,
  resourceSubscriptions,
} from "../../packages/hub/src/kernel/mcp/sessions.ts";
import { addMcpRoutes } from "../../packages/hub/src/mcp/mcp-routes.ts";
import { storeDefinition } from "../../packages/hub/src/store.ts";
import { createToken } from "../../packages/hub/src/tokens/tokens.ts";
import { tempFolder } from "./temp-folder.ts";

const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";

type Block = CallToolResult["content"][number];
const text = (content: string): Block => ({ type: "text", text: content });
const image: Block = { type: "image", data: PNG, mimeType: "image/png" };
const resource = (uri: string, mimeType: string, content: string): Block => ({
  type: "resource",
  resource: { uri, mimeType, text: content },
});

const tools: Record<string, CallToolResult> = {
  test_simple_text: { content: [text("This is a simple text response for testing.")] },
  test_image_content: { content: [image] },
  test_audio_content: { content: [{ type: "audio", data: WAV, mimeType: "audio/wav" }] },
  test_embedded_resource: {
    content: [
      resource("test://embedded-resource", "text/plain", "This is an embedded resource content."),
    ],
  },
  test_multiple_content_types: {
    content: [
      text("Multiple content types test:"),
      image,
      resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ],
  },
  test_error_handling: {
    isError: true,
    content: [text("This tool intentionally returns an error for testing")],
  },
  test_tool_with_progress: { content: [text("Done, step by step.")] },
  test_missing_capability: { content: [text("The client can sample.")] },
  test_streaming_elicitation: { content: [text("Nothing was asked.")] },
  test_logging_tool: { content: [text("Nothing was logged.")] },
  json_schema_2020_12_tool: { content: [text("The schema is what counts.")] },
};

const schema2020 = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object" as const,
  $defs: { address: { $anchor: "address", type: "object", properties: {} } },
  properties: { name: { type: "string" }, address: { $ref: "#/$defs/address" } },
  allOf: [{ anyOf: [{ required: ["name"] }, { required: ["address"] }] }],
  if: { required: ["address"] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { required: ["name"] },
  else: {},
  additionalProperties: false,
};

const prompt = (...content: Block[]): GetPromptResult => ({
  messages: content.map((block) => ({ role: "user", content: block })),
});
const prompts: Record<
  string,
  { arguments: string[]; get(args: Record<string, string>): GetPromptResult }
> = {
  test_simple_prompt: {
    arguments: [],
    get: () => prompt(text("This is a simple prompt for testing.")),
  },
  test_prompt_with_arguments: {
    arguments: ["arg1", "arg2"],
    get: ({ arg1, arg2 }) => prompt(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
  },
  test_prompt_with_embedded_resource: {
    arguments: ["resourceUri"],
    get: ({ resourceUri = "" }) =>
      prompt(
        resource(resourceUri, "text/plain", "Embedded resource content for testing."),
        text("Please process the embedded resource above."),
      ),
  },
  test_prompt_with_image: {
    arguments: [],
    get: () => prompt(image, text("Please analyze the image above.")),
  },
};

function readResource(uri: string): ReadResourceResult {
  if (uri === "test://static-text") {
    const content = "This is the content of the static text resource.";
    return { contents: [{ uri, mimeType: "text/plain", text: content }] };
  }
  if (uri === "test://static-binary")
    return { contents: [{ uri, mimeType: "image/png", blob: PNG }] };
  const id = /^test:\/\/template\/(\w+)\/data$/.exec(uri)?.[1];
  if (id === undefined)
    throw new ProtocolError(ProtocolErrorCode.ResourceNotFound, "No such resource.", { uri });
  const data = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
  return { contents: [{ uri, mimeType: "application/json", text: data }] };
}

function createFixtureServer(resources: { subscribe?: boolean } = {}): Server {
  const server = new Server(
    { name: "signalbox-fixture", version: "0.0.0" },
    { capabilities: { tools: {}, resources, prompts: {} } },
  );
  server.setRequestHandler("tools/list", () => ({
    tools: Object.keys(tools).map((name) => ({
      name,
      description: `The conformance suite's ${name}`,
      inputSchema: name === "json_schema_2020_12_tool" ? schema2020 : { type: "object" },
    })),
  }));
  server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
    const result = tools[params.name];
    if (!result) throw new ProtocolError(ProtocolErrorCode.InvalidParams, "No such tool.");
    const progressToken = mcpReq._meta?.progressToken;
    if (params.name === "test_tool_with_progress" && progressToken !== undefined)
      for (const progress of [0, 50, 100])
        await mcpReq.notify({
          method: "notifications/progress",
          params: { progressToken, progress, total: 100 },
        });
    if (params.name === "test_missing_capability" && !server.getClientCapabilities()?.sampling)
      throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { sampling: {} } });
    return result;
  });
  server.setRequestHandler("resources/list", () => ({
    resources: ["test://static-text", "test://static-binary"].map((uri) => ({ uri, name: uri })),
  }));
  server.setRequestHandler("resources/templates/list", () => ({
    resourceTemplates: [{ uriTemplate: "test://template/{id}/data", name: "template" }],
  }));
  server.setRequestHandler("resources/read", ({ params }) => readResource(params.uri));
  server.setRequestHandler("prompts/list", () => ({
    prompts: Object.entries(prompts).map(([name, { arguments: names }]) => ({
      name,
      description: `The conformance suite's ${name}`,
      arguments: names.map((argument) => ({ name: argument, required: true })),
    })),
  }));
  server.setRequestHandler("prompts/get", ({ params }) => {
    const prompt = prompts[params.name];
    if (!prompt) throw new ProtocolError(ProtocolErrorCode.InvalidParams, "No such prompt.");
    return prompt.get(params.arguments ?? {});
  });
  return server;
}

export async function startMcpFixture(): Promise<{
  url: string;
  token: string;
  stop(): Promise<void>;
}> {
  const store = openSqlite(storeDefinition, `${tempFolder()}/fixture.db`);
  const token = await createToken(store, {
    id: "fixture",
    name: "fixture",
    scopes: ["inbox:read"],
    tenants: ["acme"],
    expiresAt: null,
    now: Date.now(),
  });
  const handler = createMcpHandler(() => createFixtureServer());
  const changes = createResourceChanges(store, Date.now);
  const streams = createOpenStreams({ watch: () => () => {} });
  const sessions = createSessions({
    createServer: () => createFixtureServer({ subscribe: true }),
    subscriptions: resourceSubscriptions(async (uri) => uri === "test://watched-resource"),
    changes,
    streams,
    now: Date.now,
  });
  const app = new Hono();
  const authorizer = createAuthorizer({ store, now: Date.now, everyTenant: undefined });
  const checkHost = createHostCheck({ host: "127.0.0.1", port: 0, publicUrl: undefined });
  addMcpRoutes(app, {
    mcp: {
      async serve(httpRequest, access, reserveBytes) {
        const call = await readCall(httpRequest);
        if (call instanceof Response) return call;
        const { request, body } = call;
        const requestContext = { access, reserveBytes, body };
        return (
          (await sessions.serve(request, requestContext)) ??
          serveCall(handler, request, requestContext)
        );
      },
    },
    authorizeRequest: createAuthorizeRequest({ authorizer, checkHost }),
  });
  const http = createServer(getRequestListener(app.fetch)).listen(0, "127.0.0.1");
  await new Promise((resolve) => http.once("listening", resolve));
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    token,
    async stop() {
      changes.close();
      streams.close();
      await sessions.close();
      await handler.close();
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
      await store.close();
    },
  };
}
