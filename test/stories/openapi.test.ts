/** A linter and a code generator accept the OpenAPI document of a running hub. */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { generate } from "openapi-typescript-codegen";
import { expect, it } from "vitest";
import { ADMIN, startApi } from "../support/api-client.ts";
import { deliver } from "../support/deliver.ts";
import { edge, intent, node } from "../support/flow-samples.ts";
import { tempFolder } from "../support/temp-folder.ts";

const REPOSITORY = join(import.meta.dirname, "../..");

it("the OpenAPI document passes `redocly lint`", async () => {
  const api = await startApi();
  const source = (await api.expect(200, "GET", "/api/openapi.json")).text;
  const config = await createConfig({
    extends: ["recommended"],
    // Only descriptions refer to schemas such as `CodeParameters`, and the rule does not count them.
    rules: { "no-unused-components": "off" },
  });
  const problems = await lintFromString({ source, absoluteRef: "/openapi.json", config });
  const findings = problems.map(
    ({ ruleId, message, location }) => `${ruleId}: ${message} (${location[0]?.pointer})`,
  );
  expect(findings).toEqual([]);
});

it("a client that is generated from the OpenAPI document compiles, and can call the API", async () => {
  const api = await startApi();
  const response = await fetch(`${api.hub.url}/api/openapi.json`);
  const output = tempFolder();
  const input = (await response.json()) as Record<string, unknown>;
  const options = { useOptions: true, useUnionTypes: true, clientName: "HubClient" };
  await generate({ input, output, httpClient: "fetch", ...options });
  typeCheck(output);

  const { HubClient } = await import(join(output, "index.ts"));
  // The client uses the address in the `servers` of the document.
  const hub = new HubClient({ TOKEN: ADMIN });
  const { slug } = await hub.apps.postApiApps({ requestBody: { name: "Help desk" } });
  expect(slug).toBe("help-desk");
  const flow = await hub.flows.postApiAppsAppFlows({
    app: slug,
    requestBody: {
      name: "Greeting",
      nodes: [intent("Say hello"), node("end", "Return", { value: "Hello" })],
      edges: [edge("intent Say hello", "end")],
    },
  });
  await hub.flows.patchApiFlowsFlowNodesNode({
    flow: flow.id,
    node: "end",
    requestBody: { parameters: { value: "Hi" } },
  });
  await hub.flows.postApiFlowsFlowPublish({ flow: flow.id, requestBody: {} });
  const run = await hub.runs.postApiFlowsFlowRuns({
    flow: flow.id,
    wait: "1",
    requestBody: { trigger: "say_hello" },
  });
  expect(run).toMatchObject({ status: "succeeded", output: "Hi" });
  expect((await hub.runs.getApiRuns({ limit: 5 })).items).toHaveLength(1);
  expect((await hub.stats.getApiStats({})).runs.succeeded).toBe(1);

  await deliver(api.hub.url, {});
  const [event] = await hub.inbox.getPendingEvents({ limit: 1 });
  expect((await hub.inbox.getEvent({ id: event.id })).payload).toEqual(expect.any(Object));
  await hub.inbox.postMarkProcessed({ requestBody: { event_id: event.id } });
  expect((await hub.inbox.getPendingStatus({})).pending_count).toBe(0);
  await expect(hub.apps.getApiAppsApp({ app: "none" })).rejects.toMatchObject({ status: 404 });
});

/** Type-checks the generated files. If the compiler finds errors, it prints them, and this throws. */
function typeCheck(folder: string): void {
  const compilerOptions = {
    strict: true,
    noEmit: true,
    module: "preserve",
    lib: ["es2024", "dom"],
    types: [],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions }));
  const tsc = join(REPOSITORY, "node_modules/.bin/tsc");
  execFileSync(tsc, ["-p", folder], { stdio: ["ignore", "inherit", "inherit"] });
}
