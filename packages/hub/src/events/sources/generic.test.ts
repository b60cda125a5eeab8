import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { utf8 } from "../../kernel/lib/bytes.ts";
import { makeSigningKey } from "../admit/signatures.ts";
import { generic } from "./generic.ts";
import { configOf, decodeOne, verify } from "./test-request.ts";

const secret = "correct horse";
const body = utf8('{"id":"b-1","kind":{"name":"lamp"},"count":3}');
const mac = (encoding: "hex" | "base64") =>
  createHmac("sha256", secret).update(body).digest(encoding);
const json = { "content-type": "application/json" };

const statusOf = (headers: Record<string, string>, config: Record<string, unknown> = {}) =>
  verify(
    generic,
    { headers, body },
    makeSigningKey(generic.signature(configOf(generic, config)), secret),
    0,
    config,
  );
const read = (headers: Record<string, string>, config: Record<string, unknown> = {}) => {
  const { type, externalId } = decodeOne(
    generic,
    { headers: { ...json, ...headers }, body },
    config,
  );
  return { type, externalId };
};

describe("the signature scheme of the generic source", () => {
  it("is GitHub's HMAC or a bearer token by default", async () => {
    expect(await statusOf({ "x-hub-signature-256": `sha256=${mac("hex")}` })).toBe("valid");
    expect(await statusOf({ "x-hub-signature-256": mac("hex") })).toBe("malformed");
    expect(await statusOf({ authorization: `Bearer ${secret}` })).toBe("valid");
    expect(await statusOf({ authorization: `bearer ${secret}` })).toBe("valid");
    expect(await statusOf({ authorization: `Basic ${secret}` })).toBe("malformed");
    expect(await statusOf({})).toBe("missing");
  });

  it("uses the HMAC header if it is present", async () => {
    const headers = { "x-hub-signature-256": "sha256=00", authorization: `Bearer ${secret}` };
    expect(await statusOf(headers)).toBe("mismatch");
  });

  it("can be restricted to one mode", async () => {
    expect(await statusOf({ authorization: `Bearer ${secret}` }, { mode: "hmac" })).toBe("missing");
    const signed = { "x-hub-signature-256": `sha256=${mac("hex")}` };
    expect(await statusOf(signed, { mode: "bearer" })).toBe("missing");
  });

  it("has a configurable header, prefix and encoding", async () => {
    const config = { mode: "hmac", header: "X-Lamp-Signature", encoding: "base64" };
    expect(await statusOf({ "x-lamp-signature": mac("base64") }, config)).toBe("valid");
    expect(
      await statusOf({ "x-lamp-signature": `v1=${mac("base64")}` }, { ...config, prefix: "v1=" }),
    ).toBe("valid");
    expect(await statusOf({ "x-lamp-signature": mac("hex") }, config)).not.toBe("valid");
    expect(await statusOf({ "x-api-key": secret }, { mode: "bearer", header: "X-Api-Key" })).toBe(
      "valid",
    );
    expect(await statusOf({ "x-api-key": "wrong" }, { mode: "bearer", header: "X-Api-Key" })).toBe(
      "mismatch",
    );
    const prefixed = { mode: "bearer", header: "Authorization", prefix: "Token " };
    expect(await statusOf({ authorization: `Token ${secret}` }, prefixed)).toBe("valid");
  });
});

describe("events of the generic source", () => {
  it('have the type "event" and an optional id by default', () => {
    expect(read({})).toEqual({ type: "event", externalId: null });
    expect(read({ "idempotency-key": "k-1" })).toEqual({ type: "event", externalId: "k-1" });
    expect(read({ "webhook-id": "w-1" })).toEqual({ type: "event", externalId: "w-1" });
    expect(read({ "idempotency-key": "" }).externalId).toBeNull(); // an empty id counts as missing
    expect(read({ "x-request-id": "r-1" }).externalId).toBeNull(); // several requests may share it
  });

  it("take type and id from configured headers and fields", () => {
    expect(read({}, { idField: "id", typeField: "kind.name" })).toEqual({
      type: "lamp",
      externalId: "b-1",
    });
    expect(read({}, { idField: "count" }).externalId).toBe("3");
    expect(
      read({ "x-id": "h-1", "x-type": "t" }, { idHeader: "X-Id", typeHeader: "X-Type" }),
    ).toEqual({
      type: "t",
      externalId: "h-1",
    });
    expect(read({ "x-id": "" }, { idHeader: "X-Id" }).externalId).toBeNull();
    expect(read({}, { type: "lamp.changed" }).type).toBe("lamp.changed");
    expect(read({}, { typeField: "absent", idField: "absent" })).toEqual({
      type: "event",
      externalId: null,
    });
  });

  it("are accepted as forms", () => {
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    expect(
      decodeOne(generic, { headers, body: utf8("title=A%20b&id=7") }, { idField: "id" }),
    ).toEqual({
      type: "event",
      externalId: "7",
      inHeaders: [],
      body: { title: "A b", id: "7" },
    });
  });

  it("are summarized by common field names", () => {
    const summary = generic.summarize("event", {
      action: "on",
      message: "first\nsecond",
      user: { name: "Mona" },
      data: { number: 4, url: "https://x" },
    });
    expect(summary).toEqual({
      action: "on",
      repo: null,
      sender: "Mona",
      number: 4,
      title: "first",
      url: "https://x",
    });
    expect(generic.summarize("event", { url: "javascript:alert(1)", title: ["x"] })).toMatchObject({
      url: null,
      title: null,
    });
  });
});

describe("the config of the generic source", () => {
  it.each([
    [{ mode: "basic" }, "mode", 'must be "hmac" or "bearer"'],
    [{ header: "X Signature" }, "header", "must be the name of a header"],
    [{ encoding: "base32" }, "encoding", 'must be "hex" or "base64"'],
    [{ mode: "bearer", encoding: "hex" }, "encoding", "is only for mode"],
    [{ idHeader: "a", idField: "b" }, "idField", "not both"],
    [{ typeHeader: "a", type: "b" }, "type", "only one of typeHeader, type"],
    [{ idHeader: "Authorization" }, "idHeader", "credentials"],
    [{ typeHeader: "cookie" }, "typeHeader", "credentials"],
    [
      { mode: "bearer", header: "X-Api-Key", idHeader: "x-api-key" },
      "idHeader",
      "header with the token",
    ],
    [{ idField: "a..b" }, "idField", "names joined by dots"],
    [{ type: "" }, "type", "must not be empty"],
    [{ secret: "x" }, "", "secret"],
  ])("rejects %j", (config, path, message) => {
    const issues = generic.config?.safeParse(config).error?.issues ?? [];
    expect(issues.map((issue) => issue.path.join("."))).toContain(path);
    expect(issues.map((issue) => issue.message).join("; ")).toContain(message);
  });

  it("may be empty", () => {
    expect(generic.config?.parse({})).toEqual({});
  });
});
