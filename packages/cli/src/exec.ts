import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { asString, assertNoMoreArguments, type Command, UsageError } from "./command.ts";
import { type ConnectedHub, createExecHub } from "./exec/exec-hub.ts";
import { readExecOptions } from "./exec/exec-options.ts";
import { createExecReport } from "./exec/exec-report.ts";
import { isExecutable } from "./exec/is-executable.ts";
import { runExec } from "./exec/run-exec.ts";
import { createHubClient, type HubLocation, locateHub } from "./hub-client.ts";
import type { ClientSettings } from "./settings.ts";
import type { OpenSession } from "./with-hub.ts";

export const createExec = (openSession: OpenSession): Command => ({
  name: "exec",
  usage: "[options] -- COMMAND [ARGUMENT…]",
  summary: "run a command, such as an agent, for each event",
  details:
    "Claims a pending event, and runs the command with the event as JSON on stdin and its summary in " +
    "SIGNALBOX_EVENT_… variables. If the command exits with 0, the event is marked as processed, and " +
    "the last line of the output becomes its note. Otherwise, the command runs again later. Ctrl+C " +
    "waits for the running commands and then stops; a second Ctrl+C terminates them. For a hub on " +
    "another machine, set SIGNALBOX_URL and SIGNALBOX_TOKEN. See docs/exec.md.",
  example: 'npx @signalbox/cli exec --type issues -- claude -p "Triage the issue on stdin"',
  options: {
    type: { type: "string", value: "TYPE", help: "only events of this type, such as issues" },
    repo: { type: "string", value: "OWNER/NAME", help: "only events of this repository" },
    source: { type: "string", value: "SOURCE", help: "only events of this source, such as github" },
    filter: {
      type: "string",
      value: "PATH=VALUE",
      multiple: true,
      help: "only payloads with this value, such as issue.labels[].name=bug; repeatable",
    },
    concurrency: { type: "string", value: "N", help: "maximum number of parallel commands (1)" },
    timeout: { type: "string", value: "SECONDS", help: "time limit of a command (3600); 0 = none" },
    attempts: { type: "string", value: "N", help: "give up after N failed attempts (3)" },
    backoff: {
      type: "string",
      value: "SECONDS",
      help: "delay before the second attempt (30); it doubles for each further attempt",
    },
    lease: {
      type: "string",
      value: "SECONDS",
      help: "if this process dies, other workers can claim its events after this time (120)",
    },
    once: {
      type: "boolean",
      help: "process the pending events, then exit; the code is 1 if a command failed",
    },
    "dry-run": { type: "boolean", help: "list the events that the command would run for" },
    shell: { type: "boolean", help: "COMMAND is one argument, a script for sh -c" },
    quiet: { type: "boolean", help: "do not print the output of the commands" },
    json: { type: "boolean", help: "print the results as JSON lines on stdout" },
    tenant: {
      type: "string",
      value: "ID",
      help: "the tenant of the events (with one tenant: local)",
    },
  },
  takesCommand: true,
  settings: ["url", "token", "data", "host", "port"],
  async run(parsed) {
    assertNoMoreArguments(parsed.positionals);
    const options = readExecOptions(parsed);
    const [file = ""] = options.argv;
    if (!isExecutable(file))
      throw new UsageError(`Cannot find the command "${file}": ${adviceFor(file)}`);
    const connect = createConnect(
      openSession(parsed.flags).settings,
      asString(parsed.flags.tenant),
    );
    const report = createExecReport(options);
    const hub = createExecHub({ ...options, connect, worker: workerName(), warn: report.warn });
    const failures = await runExec({ options, hub, hubUrl: () => connect().client.url, report });
    if (options.once && failures > 0) process.exitCode = 1;
  },
});

const adviceFor = (file: string): string =>
  /\s/.test(file)
    ? "remove the quotes around it, or add --shell to run it as a script."
    : "check its name, and PATH.";

/** Returns a unique name. It starts with the host name, so that users recognize it in `claimed_by`. */
const workerName = (): string =>
  `${hostname()
    .replaceAll(/[^\w.-]/g, "")
    .slice(0, 60)}-${process.pid}-${randomUUID().slice(0, 8)}`;

/** Returns a function that locates the hub again for each request. */
function createConnect(settings: ClientSettings, tenant: string | undefined): () => ConnectedHub {
  let lastLocation: HubLocation | undefined;
  return () => {
    const located = locateHub(settings);
    // While a hub restarts, it has no file. Its last location is used, because another hub may listen on
    // the default port.
    const isRestarting = located.from === "default" && lastLocation?.from === "file";
    const location = isRestarting && lastLocation ? lastLocation : located;
    lastLocation = location;
    return {
      client: createHubClient(location, { tenant }),
      isTokenFromFile: !location.isTokenGiven && location.token !== undefined,
    };
  };
}
