/** HTTP beside the webhooks: health for operators, and a page for people. */
import { type Context, Hono } from "hono";
import { PROBLEM_TYPE, problem } from "../lib/problem.ts";
import { type HomePage, homePage } from "./home.ts";

export interface AppOptions {
  /** Rejects where the database cannot be written to. */
  checkReady: () => Promise<void>;
  metrics: { contentType: string; text(): Promise<string> };
  home: () => Promise<HomePage>;
  isStopping: () => boolean;
  onError?: (error: unknown) => void;
}

export function createApp({
  checkReady,
  metrics,
  home,
  isStopping,
  onError = () => {},
}: AppOptions) {
  const app = new Hono();
  const failed = (status: 404 | 500 | 503, code: string, title: string, detail: string) =>
    new Response(JSON.stringify(problem(status, code, title, detail)), {
      status,
      headers: { "content-type": PROBLEM_TYPE },
    });

  app.get("/healthz", (c) => c.json({ status: "ok" }));
  app.get("/readyz", async (c) => {
    if (isStopping())
      return failed(503, "stopping", "Shutting down", "This hub takes no more requests.");
    try {
      await checkReady();
      return c.json({ status: "ready" });
    } catch (error) {
      return failed(
        503,
        "storage_unavailable",
        "Storage unavailable",
        `The database cannot be written to: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  });
  app.get("/metrics", async (c) =>
    c.body(await metrics.text(), 200, { "content-type": metrics.contentType }),
  );
  app.get("/", async (c) =>
    c.html(homePage(await home()), 200, {
      "content-security-policy":
        "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    }),
  );
  app.notFound((c) =>
    failed(404, "not_found", "Not found", `There is nothing at ${c.req.method} ${c.req.path}.`),
  );
  app.onError((error, c) => {
    // Who breaks off in the middle of a request is told of nothing, and nothing is wrong here.
    if (brokenOff(c) !== error) onError(error);
    return failed(
      500,
      "internal",
      "Internal error",
      "Something went wrong; the hub's log says what.",
    );
  });
  return app;
}

/** What became of a request that did not come to its end, on hosts that can tell. */
const brokenOff = ({ env }: Context): unknown =>
  (env as { incoming?: { errored?: unknown } } | undefined)?.incoming?.errored;
