import { expect, it } from "vitest";
import { parseOutboundUrl } from "./request-rules.ts";

it("accepts https, and http if it is allowed", () => {
  expect(parseOutboundUrl("https://example.com/hook?x=1").host).toBe("example.com");
  expect(parseOutboundUrl("http://example.com", { allowHttp: true }).protocol).toBe("http:");
  expect(() => parseOutboundUrl("http://example.com")).toThrow(/protocol http:.*Use https:\.$/);
});

it.each([
  ["", /not valid/],
  ["example.com/hook", /not valid/],
  ["https://", /not valid/],
  ["https://256.256.256.256/", /not valid/],
  ["https://exa mple.com/", /not valid/],
  ["file:///etc/passwd", /protocol file:.*Use http: or https:/],
  ["gopher://example.com", /protocol gopher:/],
  ["javascript:alert(1)", /protocol javascript:/],
  ["unix:/var/run/docker.sock", /protocol unix:/],
  ["https://user:hunter2@example.com/", /example\.com contains a user name/],
  ["https://hunter2@example.com/", /contains a user name/],
  ["https://:hunter2@example.com/", /Authorization header/],
])("rejects %s", (text, message) => {
  const parse = () => parseOutboundUrl(text, { allowHttp: true });
  expect(parse).toThrow(expect.objectContaining({ code: "invalid_url" }));
  expect(parse).toThrow(message);
  expect(parse).not.toThrow(/hunter2/);
});
