/** The credentials of the GitHub App, and the verification of its JWTs. */
import { createVerify, generateKeyPairSync, randomBytes } from "node:crypto";
import type { Context } from "hono";

export interface AppKey {
  id: string;
  slug: string;
  clientId: string;
  clientSecret: string;
  /** PKCS#1, as GitHub issues it. */
  privateKey: string;
  /** Returns a response with status 401 if the request has no valid JWT, otherwise undefined. */
  reject(context: Context): Response | undefined;
}

/** The longest time from now to `exp` that GitHub allows. */
const MAX_VALID_S = 600;

export function createAppKey(): AppKey {
  const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const id = "123456";

  const problemOf = (authorization = ""): string | undefined => {
    const [, jwt = ""] = /^Bearer (.+)$/i.exec(authorization) ?? [];
    const [header, body, signature] = jwt.split(".");
    if (!header || !body || !signature) return "A JSON web token could not be decoded";
    const verifier = createVerify("RSA-SHA256").update(`${header}.${body}`);
    if (decode(header).alg !== "RS256" || !verifier.verify(publicKey, signature, "base64url"))
      return "A JSON web token could not be decoded";
    const { iss, iat, exp } = decode(body) as Record<string, unknown>;
    const now = Math.floor(Date.now() / 1000);
    if (String(iss) !== id) return "'Issuer' claim ('iss') must be the App ID";
    if (typeof iat !== "number" || iat > now)
      return "'Issued at' claim ('iat') must be in the past";
    if (typeof exp !== "number" || exp <= now)
      return "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires";
    if (exp > now + MAX_VALID_S) return "'Expiration time' claim ('exp') is too far in the future";
    return undefined;
  };

  return {
    id,
    slug: "signalbox-test",
    clientId: "Iv23liTestClient",
    clientSecret: randomBytes(20).toString("hex"),
    privateKey: privateKey.export({ type: "pkcs1", format: "pem" }) as string,
    reject({ req, json }) {
      const message = problemOf(req.header("authorization"));
      return message === undefined ? undefined : json({ message, status: "401" }, 401);
    },
  };
}

const decode = (part: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(part, "base64url").toString());
