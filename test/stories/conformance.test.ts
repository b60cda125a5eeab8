/**
 * Runs the official MCP conformance suite against `/mcp` of the built hub, for two protocol versions.
 * `expectedFailures` lists the scenarios that fail, each with a reason. The test fails if another
 * scenario fails, or if a listed scenario passes. For `/mcp/APP`, see conformance-apps.test.ts.
 */
import { describe, expect, it, onTestFinished } from "vitest";
import { covers, expectListed, findFailures } from "../support/conformance.ts";
import { SECRET } from "../support/deliver.ts";
import { hosts, startOn } from "../support/hosts.ts";
import { startMcpFixture } from "../support/mcp-fixture.ts";
import { tempFolder } from "../support/temp-folder.ts";

const TOKEN = "sbx_conformance_suite_0123";

const reasons = {
  fixture: "needs the suite's tools, resources or prompts; the fixture has them and passes",
  clientRequests:
    "the hub sends no requests to the client: no sampling, elicitation, roots or second round",
  logging: "the hub sends no log messages to clients",
  completion: "the hub supports no completion",
  tasks: "the inbox server does not offer the tasks extension",
  headers: "no tool of the hub maps an argument to a header",
  replay: "the hub does not replay broken streams",
} as const;
type Reason = keyof typeof reasons;

/** The key is a scenario, or one check of it as `scenario:check`. */
type ExpectedFailures = Record<string, Reason>;

const inBothVersions: ExpectedFailures = {
  "completion-complete": "completion",
  "json-schema-2020-12": "fixture",
  "prompts-get-embedded-resource": "fixture",
  "prompts-get-simple": "fixture",
  "prompts-get-with-args": "fixture",
  "prompts-get-with-image": "fixture",
  "resources-read-binary": "fixture",
  "resources-read-text": "fixture",
  "resources-templates-read": "fixture",
  "tools-call-audio": "fixture",
  "tools-call-embedded-resource": "fixture",
  "tools-call-error": "fixture",
  "tools-call-image": "fixture",
  "tools-call-mixed-content": "fixture",
  "tools-call-simple-text": "fixture",
  "tools-call-with-progress": "fixture",
};

const expectedFailures: Record<string, ExpectedFailures> = {
  "2025-11-25": {
    ...inBothVersions,
    "elicitation-sep1034-defaults": "clientRequests",
    "elicitation-sep1330-enums": "clientRequests",
    "logging-set-level": "logging",
    "resources-subscribe": "fixture",
    "resources-unsubscribe": "fixture",
    "server-sse-polling": "replay",
    "tools-call-elicitation": "clientRequests",
    "tools-call-sampling": "clientRequests",
    "tools-call-with-logging": "logging",
  },
  "2026-07-28": {
    ...inBothVersions,
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
    "server-stateless:sep-2575-http-server-no-independent-requests-on-stream": "fixture",
    "server-stateless:sep-2575-missing-capability-http-400": "fixture",
    "server-stateless:sep-2575-server-no-log-without-loglevel": "fixture",
    "server-stateless:sep-2575-server-rejects-undeclared-capability": "fixture",
    "tasks-capability-negotiation": "tasks",
    "tasks-dispatch-and-envelope": "tasks",
    "tasks-lifecycle": "tasks",
    "tasks-mrtr-composition": "tasks",
    "tasks-mrtr-input": "tasks",
    "tasks-request-headers": "tasks",
    "tasks-request-state-removal": "tasks",
    "tasks-required-task-error": "tasks",
    "tasks-status-notifications": "tasks",
    "tasks-wire-fields": "tasks",
  },
};

describe.each(Object.entries(expectedFailures))(
  "the conformance suite for %s",
  (revision, entries) => {
    it.each(hosts)("passes on the hub on %s, except for the expected failures", async (host) => {
      const hub = await startOn(host, {
        data: tempFolder(),
        env: { SIGNALBOX_TOKEN: TOKEN, GITHUB_WEBHOOK_SECRET: SECRET },
      });
      onTestFinished(async () => void (await hub.stop()));
      expectListed(await findFailures(`${hub.url}/mcp`, TOKEN, revision), Object.keys(entries));
    });

    it("passes on a fixture that combines the hub's handler and authorizer with the suite's tools", async () => {
      const fixture = await startMcpFixture();
      onTestFinished(fixture.stop);
      const failures = await findFailures(`${fixture.url}/mcp`, fixture.token, revision);
      const expected = Object.keys(entries).filter((name) => entries[name] !== "fixture");
      const unexpected = [...failures].filter(
        ([key]) => !expected.some((name) => covers(name, key)),
      );
      expect(Object.fromEntries(unexpected)).toEqual({});
    });
  },
);
