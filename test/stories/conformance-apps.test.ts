/**
 * Runs the official MCP conformance suite against `/mcp/APP`. The flows of the app provide the tools
 * that the suite calls, as far as flows can. `expectedFailures` lists the scenarios that fail, each with
 * a reason. The test fails if another scenario fails, or if a listed scenario passes.
 */
import { describe, it, onTestFinished } from "vitest";
import { expectListed, findFailures } from "../support/conformance.ts";
import { createConformanceApp } from "../support/conformance-app.ts";
import { SECRET } from "../support/deliver.ts";
import { hosts, startOn } from "../support/hosts.ts";
import { tempFolder } from "../support/temp-folder.ts";

const TOKEN = "sbx_conformance_of_apps_0123";

const reasons = {
  toolsOnly: "an app server offers tools, and no resources, prompts, completion or log messages",
  content: "a flow returns only text or an object",
  schema: "a flow declares its arguments as a list, not as a JSON schema with $defs or allOf",
  headers: "a flow does not map arguments to headers",
  clientRequests: "a run sends no requests to its client: no sampling, elicitation or second round",
  capability:
    "a flow requires no capability of the client; the fixture in conformance.test.ts passes this check",
  toolChange: "no flow changes the tools of its app; flows-mcp.test.ts tests the notification",
  protocolError: "a run always ends with a tool result, never with a protocol error",
  taskOptional: "every tool can be called without the tasks extension",
  taskNotifications: "clients poll their tasks; the extension makes notifications optional",
  replay: "the hub does not replay broken streams",
} as const;

/** The key is a scenario, or one check of it as `scenario:check`. */
type ExpectedFailures = Record<string, keyof typeof reasons>;

const inBothVersions: ExpectedFailures = {
  "completion-complete": "toolsOnly",
  "json-schema-2020-12": "schema",
  "prompts-get-embedded-resource": "toolsOnly",
  "prompts-get-simple": "toolsOnly",
  "prompts-get-with-args": "toolsOnly",
  "prompts-get-with-image": "toolsOnly",
  "prompts-list": "toolsOnly",
  "resources-list": "toolsOnly",
  "resources-read-binary": "toolsOnly",
  "resources-read-text": "toolsOnly",
  "resources-templates-read": "toolsOnly",
  "tools-call-audio": "content",
  "tools-call-embedded-resource": "content",
  "tools-call-image": "content",
  "tools-call-mixed-content": "content",
};

const expectedFailures: Record<string, ExpectedFailures> = {
  "2025-11-25": {
    ...inBothVersions,
    "elicitation-sep1034-defaults": "clientRequests",
    "elicitation-sep1330-enums": "clientRequests",
    "logging-set-level": "toolsOnly",
    "resources-subscribe": "toolsOnly",
    "resources-unsubscribe": "toolsOnly",
    "server-sse-polling": "replay",
    "tools-call-elicitation": "clientRequests",
    "tools-call-sampling": "clientRequests",
    "tools-call-with-logging": "toolsOnly",
  },
  "2026-07-28": {
    ...inBothVersions,
    "caching:sep-2549-prompts-list-caching-hints": "toolsOnly",
    "caching:sep-2549-resources-list-caching-hints": "toolsOnly",
    "caching:sep-2549-resources-templates-list-caching-hints": "toolsOnly",
    "http-custom-header-server-validation": "headers",
    "input-required-result-basic-elicitation": "clientRequests",
    "input-required-result-basic-list-roots": "clientRequests",
    "input-required-result-basic-sampling": "clientRequests",
    "input-required-result-capability-check": "clientRequests",
    "input-required-result-ignore-extra-params": "clientRequests",
    "input-required-result-missing-input-response": "clientRequests",
    "input-required-result-multi-round": "clientRequests",
    "input-required-result-multiple-input-requests": "clientRequests",
    "input-required-result-non-tool-request": "clientRequests",
    "input-required-result-request-state": "clientRequests",
    "input-required-result-result-type": "clientRequests",
    "input-required-result-tampered-state": "clientRequests",
    "sep-2164-resource-not-found": "toolsOnly",
    "server-stateless:sep-2575-missing-capability-http-400": "capability",
    "server-stateless:sep-2575-server-rejects-undeclared-capability": "capability",
    "server-stateless:sep-2575-server-sends-tools-list-changed-on-subscription": "toolChange",
    "tasks-dispatch-and-envelope:tasks-result-type-complete-on-non-task-responses":
      "clientRequests",
    "tasks-lifecycle:sep-2663-tasks-get-status-failed": "protocolError",
    "tasks-mrtr-composition": "clientRequests",
    "tasks-mrtr-input": "clientRequests",
    "tasks-required-task-error": "taskOptional",
    "tasks-status-notifications": "taskNotifications",
  },
};

describe.each(Object.entries(expectedFailures))(
  "the conformance suite for %s",
  (revision, entries) => {
    it.each(hosts)("passes on an app on %s, except for the expected failures", async (host) => {
      const hub = await startOn(host, {
        data: tempFolder(),
        env: { SIGNALBOX_TOKEN: TOKEN, GITHUB_WEBHOOK_SECRET: SECRET },
      });
      onTestFinished(async () => void (await hub.stop()));
      const url = await createConformanceApp(hub.url, TOKEN);
      expectListed(await findFailures(url, TOKEN, revision), Object.keys(entries));
    });
  },
);
