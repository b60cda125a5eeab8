/**
 * Server-Sent Events with the changes of a run. The first event `run` has the whole run with its first
 * steps. Each later one has the fields of the run that can change, further steps, and the steps that
 * changed. The store is read only when the client reads, so that nothing accumulates here.
 */
import type { RunChange } from "../runs/follow-run.ts";
import type { Run } from "../store/run-store.ts";
import { viewRun, viewStep } from "./views.ts";

export interface RunStreamOptions {
  /** Ends the stream, even if the client does not read. */
  stopped: AbortSignal;
  /** Called once, when either side has ended the stream. */
  onEnd(): void;
}

/** `follow` must end when its signal is aborted. */
export function streamRun(
  follow: (ended: AbortSignal) => AsyncGenerator<RunChange>,
  { stopped, onEnd }: RunStreamOptions,
): Response {
  const ended = new AbortController();
  const changes = follow(ended.signal);
  const encoder = new TextEncoder();
  let last: string | undefined;
  let stop = () => {};
  const end = () => {
    if (ended.signal.aborted) return;
    ended.abort();
    stopped.removeEventListener("abort", stop);
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
        if (stopped.aborted) stop();
        else stopped.addEventListener("abort", stop);
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
          const fields = JSON.stringify(viewChanges(run));
          if (fields === last && steps.length === 0) continue;
          const view = last === undefined ? viewRun(run) : viewChanges(run);
          last = fields;
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

function viewChanges(run: Run) {
  const { id, status, output, error, started_at, finished_at } = viewRun(run);
  return { id, status, output, error, started_at, finished_at };
}
