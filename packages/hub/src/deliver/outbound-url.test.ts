import { expect, it } from "vitest";
import { parseOutboundUrl } from "./outbound-url.ts";

it("takes https, and http where that is allowed", () => {
  expect(parseOutboundUrl("https://example.com/hook?x=1").host).toBe("example.com");
  expect(parseOutboundUrl("http://example.com", { allowHttp: true }).protocol).toBe("http:");
  expect(() => parseOutboundUrl("http://example.com")).toThrow(/starts with http:.*Use https:\.$/);
});

it.each([
  ["", /not valid/],
  ["example.com/hook", /not valid/],
  ["https://", /not valid/],
  ["https://256.256.256.256/", /not valid/],
  ["https://exa mple.com/", /not valid/],
  ["file:///etc/passwd", /starts with file:.*Use http: or https:/],
  ["gopher://example.com", /starts with gopher:/],
  ["javascript:alert(1)", /starts with javascript:/],
  ["unix:/var/run/docker.sock", /starts with unix:/],
  ["https://user:hunter2@example.com/", /example\.com holds a user name/],
  ["https://hunter2@example.com/", /holds a user name/],
  ["https://:hunter2@example.com/", /Authorization header/],
])("refuses %s", (text, words) => {
  const parse = () => parseOutboundUrl(text, { allowHttp: true });
  expect(parse).toThrow(expect.objectContaining({ code: "invalid_url" }));
  expect(parse).toThrow(words);
  expect(parse).not.toThrow(/hunter2/);
});
