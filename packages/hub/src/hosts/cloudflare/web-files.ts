import type { Fetcher } from "cloudflare:workers";
import type { ReadWebFile } from "../../web-ui/web-ui.ts";

/** Reads the files of the web UI from the Worker's static assets. Cloudflare compresses the responses. */
export const createReadWebFile =
  (assets: Fetcher): ReadWebFile =>
  async (path) => {
    const response = await assets.fetch(new URL(path, "https://assets.invalid"));
    return response.ok ? { body: new Uint8Array(await response.arrayBuffer()) } : undefined;
  };
