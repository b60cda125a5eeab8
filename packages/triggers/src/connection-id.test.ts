import { expect, it } from "vitest";
import { connectionIdOf } from "./connection-id.ts";

const jwt = (claims: unknown) =>
  `e30.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.signature`;
const v1 = (token: unknown) => ({ requestInfo: { headers: { "x-mesh-token": token } } });
const v2 = (token: string) => ({
  http: { req: new Request("http://x.test", { headers: { "x-mesh-token": token } }) },
});

it.each([
  ["version 1", v1(jwt({ connectionId: "c-1" })), "c-1"],
  ["version 1, the header as a list", v1([jwt({ connectionId: "c-1" })]), "c-1"],
  ["version 2", v2(jwt({ connectionId: "c-1" })), "c-1"],
  ["the id in metadata", v2(jwt({ metadata: { connectionId: "c-2" } })), "c-2"],
  ["non-ASCII characters", v2(jwt({ connectionId: "ünï-💡" })), "ünï-💡"],
  ["no claim connectionId", v2(jwt({ sub: "c" })), undefined],
  ["an id that is a number", v2(jwt({ connectionId: 7 })), undefined],
  ["an empty id", v2(jwt({ connectionId: "" })), undefined],
  ["claims that are not an object", v2(jwt("c")), undefined],
  ["a token that is not a JWT", v2("hello"), undefined],
  ["invalid Base64", v2("a.%%%.c"), undefined],
  ["no header", v1(undefined), undefined],
  ["no request", {}, undefined],
  ["stdio, without a context", undefined, undefined],
])(
  "returns the connection id, or undefined if the request has none: %s",
  (_, context, expected) => {
    expect(connectionIdOf(context)).toBe(expected);
  },
);
