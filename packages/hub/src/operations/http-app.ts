/** Creates the Hono app, with the web UI and the routes for operators: health, readiness and metrics. */
import { type Context, Hono } from "hono";
import { methodNotAllowed } from "hono/method-not-allowed";
import type { Denied } from "../kernel/access/authorizer.ts";
import { evidenceOfRemoteOrigin } from "../kernel/http/check-request.ts";
import { type HostCheck, isHttpsUrl } from "../kernel/http/host-check.ts";
import type { OtherPage } from "../kernel/http/html-page.ts";
import { createNonce, pageHeaders, STATIC_POLICY } from "../kernel/http/html-page.ts";
import {
  deniedResponse,
  problemResponse,
  storageUnavailable,
} from "../kernel/http/problem-response.ts";
import { isStorageUnavailable, unavailableDetail } from "../kernel/store/availability.ts";
import { type HomePage, homePage } from "../web-ui/home.ts";
import { pageAddress } from "../web-ui/page-redirect.ts";
import { ENTRY_PAGES, type ReadWebFile, serveWebUi } from "../web-ui/web-ui.ts";

export interface AppOptions {
  /** Rejects if the database cannot be written. */
  checkReady: () => Promise<void>;
  checkHost: HostCheck;
  publicUrl?: string | undefined;
  /** The host name to which pages are redirected. Undefined: pages are served under every host name. */
  pageHost?: string | undefined;
  /** The pages that the web UI does not serve. */
  pages?: readonly OtherPage[];
  metrics: { contentType: string; text(): Promise<string> };
  /** Undefined if the metrics need no token. */
  authorizeMetrics?: ((request: Request) => Promise<Denied | undefined>) | undefined;
  /** Returns the data of the start page. `isLocal`: no header shows that the request comes from another machine. */
  home: (isLocal: boolean) => Promise<HomePage>;
  /** Undefined if the host does not serve the web UI. */
  readWebFile?: ReadWebFile | undefined;
  /** The origins from which the web UI may load images, besides the hub itself. */
  imageOrigins?: readonly string[];
  isStopping: () => boolean;
  onError?: (error: unknown) => void;
}

export function createHttpApp({
  checkReady,
  checkHost,
  publicUrl,
  pageHost,
  pages,
  metrics,
  authorizeMetrics,
  home,
  readWebFile,
  imageOrigins,
  isStopping,
  onError = () => {},
}: AppOptions) {
  const app = new Hono();
  if (isHttpsUrl(publicUrl))
    app.use(async (c, next) => {
      await next();
      c.res.headers.set("strict-transport-security", STRICT_TRANSPORT_SECURITY);
    });
  app.use(
    methodNotAllowed({
      app,
      onMethodNotAllowed: ({ req }, methods) =>
        problemResponse(
          405,
          "method_not_allowed",
          "Method not allowed",
          `${req.path} does not support ${req.method}. Use ${methods.join(", ")}.`,
          { allow: methods.join(", ") },
        ),
    }),
  );

  app.get("/healthz", (c) => c.json({ status: "ok" }));
  // Checks the `Host` header, against DNS rebinding. Browsers always send it; probes over HTTP/1.0 may
  // omit it.
  app.use(async (c, next) => {
    const host = c.req.header("host");
    const denied = host === undefined ? undefined : checkHost(host);
    return denied ? deniedResponse(denied) : next();
  });
  if (pageHost !== undefined)
    app.use(async (c, next) => {
      const address = pageAddress(c.req.raw, pageHost, pages);
      if (address === undefined) return next();
      c.header("cache-control", "no-store");
      return c.redirect(address);
    });
  app.get("/readyz", async (c) => {
    if (isStopping())
      return problemResponse(
        503,
        "stopping",
        "Shutting down",
        "This hub accepts no more requests.",
      );
    try {
      await checkReady();
      return c.json({ status: "ready" });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      return storageUnavailable(`The database cannot be written: ${reason}`);
    }
  });
  app.get("/metrics", async (c) => {
    const denied = await authorizeMetrics?.(c.req.raw);
    if (denied) return deniedResponse(denied);
    return c.body(await metrics.text(), 200, { "content-type": metrics.contentType });
  });
  app.on("GET", [...ENTRY_PAGES], async (c) => {
    const page = await serveWebUi(readWebFile, c.req.raw, imageOrigins);
    if (page) return page;
    const nonce = createNonce();
    return new Response(homePage(await home(isLocal(c)), nonce), {
      headers: pageHeaders(nonce, STATIC_POLICY),
    });
  });
  app.notFound(
    async (c) =>
      (await serveWebUi(readWebFile, c.req.raw, imageOrigins)) ??
      problemResponse(
        404,
        "not_found",
        "Not found",
        `There is no route ${c.req.method} ${c.req.path}.`,
      ),
  );
  app.onError((error, c) => {
    if (isStorageUnavailable(error)) return storageUnavailable(unavailableDetail(error));
    // A client that disconnects during its request causes an error that is not worth logging.
    if (incomingErrorOf(c) !== error) onError(error);
    return problemResponse(
      500,
      "internal",
      "Internal error",
      "The request failed; see the hub's log.",
    );
  });
  return app;
}

/** One year, without subdomains: those may belong to other programs. Browsers ignore it over http. */
const STRICT_TRANSPORT_SECURITY = "max-age=31536000";

const isLocal = (c: Context): boolean =>
  evidenceOfRemoteOrigin({
    header(name) {
      const value = c.req.header(name);
      return value === undefined ? [] : [value];
    },
  }) === undefined;

/** Returns the error of an incomplete request. Always undefined on hosts other than Node. */
const incomingErrorOf = ({ env }: Context): unknown =>
  (env as { incoming?: { errored?: unknown } } | undefined)?.incoming?.errored;
