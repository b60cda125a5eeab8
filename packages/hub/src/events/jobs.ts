import type { Job } from "../kernel/jobs/job.ts";
import { webhookJob } from "./admit/read-webhook.ts";
import { callbackJob } from "./callback/callback-event.ts";
import { payloadMatchJob, payloadPartJob } from "./inbox/payload-reader.ts";
import { payloadJob } from "./sources/read-payload.ts";

export const eventJobs: readonly Job[] = [
  webhookJob,
  callbackJob,
  payloadJob,
  payloadPartJob,
  payloadMatchJob,
];
