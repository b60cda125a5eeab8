import { expect, it } from "vitest";
import {
  accessText,
  bodyOf,
  emptyForm,
  formOf,
  isComplete,
  type Pair,
  pairsProblem,
} from "./connection-form.ts";

const server = { ...emptyForm, name: " weather ", url: "https://weather.example/mcp " };
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

it("sends only the fields that are filled in", () => {
  expect(bodyOf(server)).toEqual({ name: "weather", url: "https://weather.example/mcp" });
  expect(bodyOf({ ...server, access: "bearer", token: "t" })).toMatchObject({
    auth: { type: "bearer", token: "t" },
  });
  expect(
    bodyOf({
      ...server,
      access: "client_credentials",
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
  expect(
    bodyOf({ ...server, access: "authorization_code", tokenUrl: "https://unused.example" }),
  ).toMatchObject({
    auth: { type: "oauth", grant: "authorization_code" },
  });
});

it("sends the command with its arguments and variables", () =>
  expect(
    bodyOf({
      ...emptyForm,
      name: "files",
      transport: "stdio",
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

it("keeps stored credentials unless the user chooses others", () => {
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

it("is complete when all required fields are filled in", () => {
  expect(isComplete(emptyForm)).toBe(false);
  expect(isComplete(server)).toBe(true);
  expect(isComplete({ ...server, access: "bearer" })).toBe(false);
  expect(isComplete({ ...server, access: "client_credentials", clientId: "hub" })).toBe(false);
  expect(
    isComplete({ ...server, access: "client_credentials", clientId: "hub", clientSecret: "s" }),
  ).toBe(true);
  expect(isComplete({ ...server, access: "authorization_code" })).toBe(true);
  expect(isComplete({ ...server, access: "authorization_code", clientSecret: "s" })).toBe(false);
  expect(isComplete({ ...emptyForm, name: "files", transport: "stdio" })).toBe(false);
});

it("reports blank values of stored names, and names that occur twice", () => {
  const region: Pair = ["X-Region", ""];
  expect(pairsProblem([region], ["X-Region"])).toMatch(/^enter the value of X-Region again/);
  expect(isComplete({ ...formOf(stored), headers: [region] }, stored.credentials)).toBe(false);
  expect(isComplete({ ...formOf(stored), headers: [] }, stored.credentials)).toBe(true);
  expect(pairsProblem([region])).toBeUndefined();
  expect(pairsProblem([region, ["X-Region ", "eu"]])).toBe(
    "X-Region occurs twice: remove one of them",
  );
  expect(pairsProblem(undefined, ["X-Region"])).toBeUndefined();
});

it("describes the credentials without their values", () => {
  expect(accessText(stored.credentials)).toBe("OAuth client hub, X-Region");
  expect(accessText({ auth: { type: "bearer" } })).toBe("bearer token");
  expect(accessText({ auth: { type: "oauth", grant: "authorization_code" } })).toBe("OAuth");
  expect(accessText({})).toBe("");
});
