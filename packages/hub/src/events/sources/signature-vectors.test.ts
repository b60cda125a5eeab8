/**
 * Compares the schemes with published examples and official libraries, to detect errors that our
 * signing and our verifying have in common.
 */
import { createHmac } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { nodeHmacKey } from "../../hosts/node/ports.ts";
import { utf8 } from "../../kernel/lib/bytes.ts";
import { webHmacKey } from "../../kernel/lib/hmac.ts";
import {
  makeSigningKey,
  type SignatureScheme,
  slackSignature,
  standardSignature,
  stripeSignature,
  svixSignature,
} from "../admit/signatures.ts";
import { github } from "./github.ts";
import { gitlab } from "./gitlab.ts";
import { header, verify } from "./test-request.ts";

const verifyWith = (
  scheme: SignatureScheme,
  headers: Record<string, string>,
  body: string,
  secret: string,
  now: number,
) =>
  scheme.verify({ header: header(headers), body: utf8(body), now }, makeSigningKey(scheme, secret));

describe.each([
  ["Web Crypto", webHmacKey],
  ["Node's crypto", nodeHmacKey],
])("with %s", (_, makeHmacKey) => {
  it("accepts GitHub's documented signature", async () => {
    const scheme = github.signature({});
    const key = makeSigningKey(scheme, "It's a Secret to Everybody", makeHmacKey);
    const body = utf8("Hello, World!");
    const signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    const headers = { "x-hub-signature-256": signature };
    expect(await scheme.verify({ header: header(headers), body, now: 0 }, key)).toBe("valid");
    expect(await scheme.sign({ body, now: 0, id: "" }, key)).toEqual(headers);
  });

  it("accepts Slack's documented signature", async () => {
    const key = makeSigningKey(slackSignature, "8f742231b10e8888abcd99yyyzzz85a5", makeHmacKey);
    const body = utf8(
      "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V" +
        "&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=" +
        "&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN" +
        "&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c",
    );
    const now = 1531420618_000;
    const headers = {
      "x-slack-signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
      "x-slack-request-timestamp": "1531420618",
    };
    expect(await slackSignature.verify({ header: header(headers), body, now }, key)).toBe("valid");
    expect(await slackSignature.sign({ body, now, id: "" }, key)).toEqual(headers);
  });

  it.each([
    ["Standard Webhooks", "webhook", standardSignature],
    ["Svix", "svix", svixSignature],
  ])("accepts the documented signature of %s", async (_, headerPrefix, scheme) => {
    const key = makeSigningKey(scheme, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", makeHmacKey);
    const id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    const headers = {
      [`${headerPrefix}-id`]: id,
      [`${headerPrefix}-timestamp`]: "1614265330",
      [`${headerPrefix}-signature`]: "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    };
    const body = utf8('{"test": 2432232314}');
    const now = 1614265330_000;
    expect(await scheme.verify({ header: header(headers), body, now }, key)).toBe("valid");
    expect(await scheme.sign({ body, now, id }, key)).toEqual(headers);
  });
});

describe("the library of Standard Webhooks", () => {
  const secrets = [
    "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
    "C2FVsBQIhrscChlQIMV+b5sSYspob7oD", // the prefix is optional
    `whsec_${Buffer.from("ünïcode is only bytes here").toString("base64")}`,
  ];
  const body = '{"type":"user.created","data":{"name":"Zoë 🚂"}}';

  it.each(secrets)("is compatible in both directions: %s", async (secret) => {
    const now = Date.now();
    const theirs = new Webhook(secret);
    const signature = theirs.sign("msg_1", new Date(now), body);
    const headers = {
      "webhook-id": "msg_1",
      "webhook-timestamp": String(Math.floor(now / 1000)),
      "webhook-signature": signature,
    };
    expect(await verifyWith(standardSignature, headers, body, secret, now)).toBe("valid");

    const ours = await standardSignature.sign(
      { body: utf8(body), now, id: "msg_2" },
      makeSigningKey(standardSignature, secret),
    );
    expect(theirs.verify(body, ours)).toEqual(JSON.parse(body));
    expect(() => theirs.verify(`${body} `, ours)).toThrow();
  });

  it("is compatible with several signatures during the rotation of a secret", async () => {
    const now = Date.now();
    const signedHeaders = {
      "webhook-id": "msg_1",
      "webhook-timestamp": String(Math.floor(now / 1000)),
    };
    const [right = "", wrong = ""] = [secrets[0], secrets[2]].map((secret) =>
      new Webhook(secret as string).sign("msg_1", new Date(now), body),
    );
    const withSignatures = (list: string) => ({ ...signedHeaders, "webhook-signature": list });
    const statusOf = (list: string) =>
      verifyWith(standardSignature, withSignatures(list), body, secrets[0] as string, now);
    expect(await statusOf(`${wrong} ${right}`)).toBe("valid");
    expect(await statusOf(`v1a,AAAA ${wrong}`)).toBe("mismatch");
    expect(await statusOf(`v1a,${right.slice(3)}`)).toBe("malformed"); // another signature version
    expect(await statusOf(`v2,${right.slice(3)} ${wrong}`)).toBe("mismatch");
  });
});

describe("stripeSignature", () => {
  // Stripe documents the algorithm, but no example with a secret, so the test implements it.
  const secret = "whsec_test_5f2a"; // used unchanged, including the prefix
  const body = '{"id":"evt_1"}';
  const now = 1492774577_000;
  const v1 = (by: string) => createHmac("sha256", by).update(`1492774577.${body}`).digest("hex");
  const statusOf = (value: string) =>
    verifyWith(stripeSignature, { "stripe-signature": value }, body, secret, now);

  it("accepts signatures of the documented algorithm", async () => {
    expect(await statusOf(`t=1492774577,v1=${v1(secret)}`)).toBe("valid");
    expect(await statusOf(`t=1492774577,v1=${v1("old")},v1=${v1(secret)},v0=${v1("x")}`)).toBe(
      "valid",
    );
    expect(await statusOf(`t=1492774577, v1=${v1(secret)}`)).toBe("valid");
  });

  it("rejects other signature versions", async () => {
    expect(await statusOf(`t=1492774577,v0=${v1(secret)}`)).toBe("malformed");
    expect(await statusOf(`v1=${v1(secret)}`)).toBe("malformed");
    expect(await statusOf(`t=1492774577,v1=${v1("old")},v0=${v1(secret)}`)).toBe("mismatch");
  });
});

describe("GitLab", () => {
  const now = Date.now();
  const body = utf8('{"object_kind":"push"}');
  const signing = "whsec_dGVzdHRlc3R0ZXN0dGVzdHRlc3R0ZXN0dGVzdHRlc3Q=";
  const token = "a plain secret token";
  const scheme = gitlab.signature({});
  const sign = (secret: string) =>
    standardSignature.sign({ body, now, id: "1" }, makeSigningKey(standardSignature, secret));
  const statusOf = (headers: Record<string, string>, secret: string) =>
    verify(gitlab, { headers, body }, makeSigningKey(scheme, secret), now);

  it("accepts either kind of secret as the token", async () => {
    for (const secret of [token, signing]) {
      expect(await statusOf({ "x-gitlab-token": secret }, secret)).toBe("valid");
      expect(await statusOf({ "x-gitlab-token": `${secret}x` }, secret)).toBe("mismatch");
      expect(await statusOf({ "x-gitlab-token": "" }, secret)).toBe("missing");
    }
    expect(await statusOf({ "x-gitlab-token": token }, signing)).toBe("mismatch");
  });

  it("accepts a request if either its signature or its token is valid", async () => {
    const both = { ...(await sign(signing)), "x-gitlab-token": token };
    expect(await statusOf(both, signing)).toBe("valid");
    expect(await statusOf(both, token)).toBe("valid");
    expect(await statusOf(both, "neither")).toBe("mismatch");
  });

  it("rejects an expired signature", async () => {
    const headers = await sign(signing);
    const later = now + 400_000;
    expect(await verify(gitlab, { headers, body }, makeSigningKey(scheme, signing), later)).toBe(
      "expired",
    );
  });
});
