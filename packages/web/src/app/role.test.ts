import { expect, it } from "vitest";
import { roleIn } from "./role.ts";

const person = {
  login: "ada",
  name: null,
  avatar_url: null,
  roles: { "1": "admin", "2": "member" } as const,
};
const session: Parameters<typeof roleIn>[0] = {
  person,
  scopes: ["inbox:read"],
  tenants: ["1", "2"],
};

it("returns the role of the person in the chosen tenant, or `member`", () => {
  expect(roleIn(session, "1")).toBe("admin");
  expect(roleIn(session, "2")).toBe("member");
  expect(roleIn(session, "3")).toBe("member");
});

it("returns the role in the only tenant if none is chosen", () => {
  expect(roleIn({ ...session, tenants: ["1"] }, undefined)).toBe("admin");
  expect(roleIn({ ...session, tenants: [] }, undefined)).toBe("member");
});

it("returns `admin` for a session without a person only if it has the scope `admin`", () => {
  expect(roleIn({ ...session, person: null }, "1")).toBe("member");
  expect(roleIn({ ...session, person: null, scopes: ["admin"] }, undefined)).toBe("admin");
});
