/** The settings with which a program finds a hub and authorizes its requests. The hub has them too. */
import { z } from "zod";
import { integer, nonEmpty, setting, url } from "./settings.ts";

/** The number of characters in a bearer token. The hub's own tokens have fewer than 60. */
export const MAX_TOKEN_LENGTH = 512;

// biome-ignore format: a table
export const clientDefinitions = {
  port: setting({ env: "PORT", flag: "port", help: "port to listen on", schema: integer(0, 65_535).default(4747) }),
  host: setting({ env: "HOST", flag: "host", help: "address to listen on", schema: nonEmpty.default("127.0.0.1") }),
  data: setting({ env: "SIGNALBOX_DATA", flag: "data", help: "folder for the database and the key", schema: nonEmpty.default(".signalbox") }),
  token: setting({ env: "SIGNALBOX_TOKEN", secret: true, help: "the admin token: serve accepts it (if unset, the first start generates one), commands send it", schema: z.string("must be a string").regex(/^[\x21-\x7e]+$/, "must consist of ASCII characters without spaces").max(MAX_TOKEN_LENGTH, `must have at most ${MAX_TOKEN_LENGTH} characters`).optional() }),
  url: setting({ env: "SIGNALBOX_URL", flag: "url", help: "the hub that the command uses; if unset, the one that runs on the data folder", schema: url.optional() }),
} as const;
