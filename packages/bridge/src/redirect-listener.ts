/** The server on the loopback address to which the browser returns (RFC 8252). */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { parseUrl } from "./parse-url.ts";

export interface Redirect {
  code: string;
  iss: string | undefined;
}

export async function listenForRedirect({ state, signal }: { state: string; signal: AbortSignal }) {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(0, "127.0.0.1", resolve);
  });
  server.unref();
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const close = () => void server.close();
  signal.addEventListener("abort", close, { once: true });

  return {
    /** The page that the user opens. It redirects to `page`, whose long URL a terminal may wrap or truncate. */
    url,
    redirectUrl: `${url}callback`,
    close,
    /** Waits for the first redirect with the right state. Resolves with the result of `redeem`. */
    waitForRedirect<Result>(
      page: string,
      redeem: (redirect: Redirect) => Promise<Result>,
    ): Promise<Result> {
      return new Promise<Result>((resolve, reject) => {
        const serve: RequestListener = (request, response) => {
          const answer = (status: number, text: string, headers = {}) =>
            void response
              .writeHead(status, {
                "content-type": "text/plain; charset=utf-8",
                connection: "close",
                ...headers,
              })
              .end(text);
          const requested = parseUrl(request.url ?? "/", url);
          if (!requested) return answer(400, "The address is malformed.");
          const { pathname, searchParams } = requested;
          if (request.method !== "GET") return answer(405, "Use GET.");
          if (pathname === "/") return answer(302, "", { location: page });
          if (pathname !== "/callback") return answer(404, "Not found.");
          if (searchParams.get("state") !== state)
            return answer(400, "This is not the sign-in that the bridge waits for.");
          server.off("request", serve);
          close();
          const code = searchParams.get("code");
          if (code === null) {
            answer(400, "You are not signed in. You can close this window.");
            return reject(new Error(searchParams.get("error") ?? "the hub returned no code"));
          }
          redeem({ code, iss: searchParams.get("iss") ?? undefined }).then(
            (result) => {
              answer(200, "You are signed in. You can close this window.");
              resolve(result);
            },
            (error: unknown) => {
              answer(502, "The sign-in failed. The output of the bridge has the reason.");
              reject(error);
            },
          );
        };
        server.on("request", serve);
        signal.addEventListener("abort", () => reject(new Error("the bridge stops")));
      });
    },
  };
}
