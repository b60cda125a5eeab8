import { eventJobs } from "../events/jobs.ts";
import { type Job, type JobRequest, type RunJob, toResult } from "../kernel/jobs/job.ts";
import { createInProcessJobs } from "../kernel/jobs/run-jobs.ts";
import { createFlowJobs } from "./jobs.ts";

/** A request as tests record it. */
export interface RecordedRequest extends JobRequest {
  expressions?: readonly string[];
}

/** Accepts any code. */
const syntaxJob: Job = {
  name: "javascript-syntax",
  reads: "text",
  run: async ({ expressions = [] }: RecordedRequest) => toResult(expressions.map(() => ({}))),
};

/** Runs jobs in this process, for tests without QuickJS. */
export const testRunJob: RunJob = createInProcessJobs([
  ...eventJobs,
  ...createFlowJobs({
    get engine(): never {
      throw new Error("JavaScript was not expected in this test");
    },
  }),
  syntaxJob,
]);
