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
  ["version 1, several headers", v1([jwt({ connectionId: "c-1" })]), "c-1"],
  ["version 2", v2(jwt({ connectionId: "c-1" })), "c-1"],
  ["metadata", v2(jwt({ metadata: { connectionId: "c-2" } })), "c-2"],
  ["other characters than ASCII", v2(jwt({ connectionId: "ünï-💡" })), "ünï-💡"],
  ["another claim", v2(jwt({ sub: "c" })), undefined],
  ["a number", v2(jwt({ connectionId: 7 })), undefined],
  ["an empty id", v2(jwt({ connectionId: "" })), undefined],
  ["no object", v2(jwt("c")), undefined],
  ["no JWT", v2("hello"), undefined],
  ["bad base64", v2("a.%%%.c"), undefined],
  ["no header", v1(undefined), undefined],
  ["no request", {}, undefined],
  ["stdio", undefined, undefined],
])("the connection of a request: %s", (_, context, expected) => {
  expect(connectionIdOf(context)).toBe(expected);
});
