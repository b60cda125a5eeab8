/**
 * Server-Sent Events with the changes of a run. The first event `run` has the whole run with its first
 * steps. Each later one has the fields of the run that can change, further steps, and the steps that
 * changed. The store is read only when the client reads, so that nothing accumulates here.
 */
import type { RunChange } from "../runs/follow-run.ts";
import type { Run } from "../store/run-store.ts";
import { viewRun, viewStep } from "./views.ts";

/**
 * `follow` must end when its signal is aborted. `stopped` ends the stream even if the client does not
 * read.
 */
export function streamRun(
  follow: (signal: AbortSignal) => AsyncGenerator<RunChange>,
  stopped: AbortSignal,
): Response {
  const disconnected = new AbortController();
  const changes = follow(disconnected.signal);
  const encoder = new TextEncoder();
  let last: string | undefined;
  let isClosed = false;
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const close = () => {
          if (isClosed) return;
          isClosed = true;
          controller.close();
          disconnected.abort();
          void changes.return(undefined);
        };
        stopped.addEventListener("abort", close, { once: true });
        if (stopped.aborted) close();
      },
      async pull(controller) {
        for (;;) {
          const { done, value } = await changes.next();
          if (isClosed) return;
          if (done) {
            isClosed = true;
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
      async cancel() {
        isClosed = true;
        disconnected.abort();
        await changes.return(undefined); // runs its `finally` blocks if no `next` is pending
      },
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
