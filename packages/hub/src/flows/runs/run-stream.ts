/**
 * Sends the changes of a run as Server-Sent Events. The first event `run` has the whole run with its first
 * steps. Each later event has the fields of the run that can change, further steps, and the steps that
 * changed. The store is read only when the client reads, so that no messages accumulate in memory.
 */

import { viewRun, viewStep } from "../views.ts";
import type { RunChange } from "./follow-run.ts";
import type { Run } from "./model.ts";

export interface RunStreamOptions {
  /** Its abort ends the stream, even if the client does not read. */
  stopSignal: AbortSignal;
  /** Called once, when either side has ended the stream. */
  onEnd(): void;
}

/** Returns the response. The generator of `follow` must end when its signal is aborted. */
export function streamRun(
  follow: (ended: AbortSignal) => AsyncGenerator<RunChange>,
  { stopSignal, onEnd }: RunStreamOptions,
): Response {
  const ended = new AbortController();
  const changes = follow(ended.signal);
  const encoder = new TextEncoder();
  /** The JSON of the run's fields in the last event. */
  let lastFields: string | undefined;
  let stop = () => {};
  const end = () => {
    if (ended.signal.aborted) return;
    ended.abort();
    stopSignal.removeEventListener("abort", stop);
    changes.return(undefined).catch(() => {}); // a pending `next` reports the error
    onEnd();
  };
  const next = async () => {
    try {
      return await changes.next();
    } catch (error) {
      end();
      throw error;
    }
  };
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        stop = () => {
          end();
          controller.close();
        };
        if (stopSignal.aborted) stop();
        else stopSignal.addEventListener("abort", stop);
      },
      async pull(controller) {
        for (;;) {
          const { done, value } = await next();
          if (ended.signal.aborted) return;
          if (done) {
            end();
            return controller.close();
          }
          const { run, steps } = value;
          const fields = JSON.stringify(viewChangingFields(run));
          if (fields === lastFields && steps.length === 0) continue;
          const view = lastFields === undefined ? viewRun(run) : viewChangingFields(run);
          lastFields = fields;
          const data = JSON.stringify({ ...view, steps: steps.map(viewStep) });
          return controller.enqueue(encoder.encode(`event: run\ndata: ${data}\n\n`));
        }
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  );
  return new Response(body, {
    headers: { "content-type": "text/event-stream", "cache-control": "no-store" },
  });
}

function viewChangingFields(run: Run) {
  const { id, status, output, error, started_at, finished_at } = viewRun(run);
  return { id, status, output, error, started_at, finished_at };
}
