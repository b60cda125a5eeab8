import { runComparisons } from "@signalbox/rules/flows/compare.ts";
import type { SerializedProgram } from "@signalbox/rules/flows/evaluation.ts";
import { runSelect } from "@signalbox/rules/flows/select.ts";
import { type Job, toResult } from "../kernel/jobs/job.ts";
import { createMatchJob } from "./matching/match-job.ts";
import { evaluateAuthorProgram, type RunIsolated } from "./sandbox/author-programs.ts";
import { checkSyntax, type JavaScriptHost, runJavaScript } from "./sandbox/run-javascript.ts";

export interface SandboxHost extends JavaScriptHost {
  /** Set if the host has no deadline: evaluates expressions and schemas of authors. */
  runIsolated?: RunIsolated;
}

/** Comparisons of triggers, and one job for each kind of program that an author writes. */
export function createFlowJobs(host: SandboxHost): readonly Job[] {
  const runIsolated = host.runIsolated ?? evaluateAuthorProgram;
  const programs: { [Name in SerializedProgram["job"]]: RunProgram<Name> } = {
    jsonata: runIsolated,
    "jsonata-filters": runIsolated,
    "jsonata-analysis": runIsolated,
    "json-schema": runIsolated,
    javascript: (program) => runJavaScript(program, host),
    "javascript-syntax": (program) => checkSyntax(program, host),
    comparisons: async ({ data }) => toResult(runComparisons(JSON.parse(data))),
    select: async ({ data, ...selection }) => runSelect(selection, data),
  };
  return [
    createMatchJob(host.runIsolated),
    ...Object.entries(programs).map(([name, run]): Job => ({ name, reads: "text", run })),
  ];
}

type RunProgram<Name> = (
  program: Extract<SerializedProgram, { job: Name }>,
) => ReturnType<Job["run"]>;
