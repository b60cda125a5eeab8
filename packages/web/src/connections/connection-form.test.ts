import { expect, it } from "vitest";
import {
  accessText,
  bodyOf,
  formOf,
  isComplete,
  newForm,
  type Pair,
  pairsProblem,
} from "./connection-form.ts";

const server = { ...newForm, name: " weather ", url: "https://weather.example/mcp " };
const stored = {
  name: "weather",
  url: "https://weather.example/mcp",
  command: null,
  args: [],
  credentials: {
    auth: { type: "oauth", client_id: "hub", scope: "read" },
    headers: ["X-Region"],
  },
};

it("sends only what is filled in", () => {
  expect(bodyOf(server)).toEqual({ name: "weather", url: "https://weather.example/mcp" });
  expect(bodyOf({ ...server, access: "bearer", token: "t" })).toMatchObject({
    auth: { type: "bearer", token: "t" },
  });
  expect(
    bodyOf({
      ...server,
      access: "oauth",
      clientId: "hub",
      clientSecret: "s",
      scope: " ",
      headers: [
        ["X-Region", "eu"],
        ["", "ignored"],
      ],
    }),
  ).toEqual({
    name: "weather",
    url: "https://weather.example/mcp",
    auth: {
      type: "oauth",
      grant: "client_credentials",
      client_id: "hub",
      client_secret: "s",
    },
    headers: { "X-Region": "eu" },
  });
  expect(bodyOf({ ...server, access: "sign_in", tokenUrl: "of another choice" })).toMatchObject({
    auth: { type: "oauth", grant: "authorization_code" },
  });
});

it("starts a command with its arguments and variables", () =>
  expect(
    bodyOf({
      ...newForm,
      name: "files",
      reach: "command",
      command: "npx",
      args: "-y\nserver-files\n",
      env: [["ROOT", "/srv"]],
    }),
  ).toEqual({
    name: "files",
    command: "npx",
    args: ["-y", "server-files"],
    env: { ROOT: "/srv" },
  }));

it("keeps stored credentials unless others are chosen", () => {
  const form = formOf(stored);
  expect(form).toMatchObject({ access: "keep", clientId: "hub", scope: "read" });
  expect(bodyOf(form, stored)).toEqual({ name: stored.name, url: stored.url });
  expect(bodyOf({ ...form, access: "none", headers: [] }, stored)).toMatchObject({
    auth: null,
    headers: null,
  });
  const plain = { ...stored, credentials: {} };
  expect(bodyOf({ ...formOf(plain), url: "https://other.example/mcp" }, plain)).toEqual({
    name: "weather",
    url: "https://other.example/mcp",
  });
});

it("is complete when the hub can try it", () => {
  expect(isComplete(newForm)).toBe(false);
  expect(isComplete(server)).toBe(true);
  expect(isComplete({ ...server, access: "bearer" })).toBe(false);
  expect(isComplete({ ...server, access: "oauth", clientId: "hub" })).toBe(false);
  expect(isComplete({ ...server, access: "oauth", clientId: "hub", clientSecret: "s" })).toBe(true);
  expect(isComplete({ ...server, access: "sign_in" })).toBe(true);
  expect(isComplete({ ...server, access: "sign_in", clientSecret: "s" })).toBe(false);
  expect(isComplete({ ...newForm, name: "files", reach: "command" })).toBe(false);
});

it("does not erase a stored value, or drop one of two, without a word", () => {
  const region: Pair = ["X-Region", ""];
  expect(pairsProblem([region], ["X-Region"])).toMatch(/^give the value of X-Region again/);
  expect(isComplete({ ...formOf(stored), headers: [region] }, stored.credentials)).toBe(false);
  expect(isComplete({ ...formOf(stored), headers: [] }, stored.credentials)).toBe(true);
  expect(pairsProblem([region])).toBeUndefined();
  expect(pairsProblem([region, ["X-Region ", "eu"]])).toBe("X-Region is given twice");
  expect(pairsProblem(undefined, ["X-Region"])).toBeUndefined();
});

it("names the credentials without their values", () => {
  expect(accessText(stored.credentials)).toBe("OAuth client hub, X-Region");
  expect(accessText({ auth: { type: "bearer" } })).toBe("bearer token");
  expect(accessText({ auth: { type: "oauth", grant: "authorization_code" } })).toBe("OAuth");
  expect(accessText({})).toBe("");
});
