import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { clientAddress, isInNetworks, isLoopback, parseNetworks } from "./addresses.ts";

const networks = parseNetworks([
  "192.30.252.0/22",
  "2606:50c0::/32",
  "203.0.113.7",
  "::ffff:198.51.100.0/120",
]);

describe("isInNetworks", () => {
  it.each([
    ["192.30.252.1", true],
    ["192.30.255.255", true],
    ["192.31.0.0", false],
    ["::ffff:192.30.252.1", true],
    ["::ffff:c01e:fc01", true],
    ["2606:50c0:1::5", true],
    ["2607:50c0::1", false],
    ["::1", false],
    ["203.0.113.7", true],
    ["203.0.113.8", false],
    ["198.51.100.9", true],
    ["", false],
    ["not an address", false],
    ["192.30.252.1.evil.example", false],
  ])("of %s is %s", (address, expected) => {
    expect(isInNetworks(address, networks)).toBe(expected);
  });

  it("is false for an IPv6 address and an IPv4 network, unless the address is IPv4-mapped", () => {
    const v4 = parseNetworks(["0.0.0.0/0"]);
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        const mapped = /^(0{0,4}:){0,5}:?ffff:/i.test(address) || address.includes(".");
        if (!mapped) expect(isInNetworks(address, v4)).toBe(false);
      }),
    );
  });

  it("does not throw on hostile text", () => {
    fc.assert(
      fc.property(fc.string(), (text) => typeof isInNetworks(text, networks) === "boolean"),
    );
  });
});

describe("clientAddress", () => {
  const proxy = { header: "x-forwarded-for", networks: parseNetworks(["10.0.0.0/8", "127.0.0.1"]) };
  const forwarded = (value: string | undefined) => (name: string) =>
    name === "x-forwarded-for" ? value : undefined;

  it("returns the peer without a trusted proxy", () => {
    expect(clientAddress("10.0.0.1", forwarded("192.0.2.9"), undefined)).toBe("10.0.0.1");
  });
  it("reads the header only from a trusted proxy", () => {
    expect(clientAddress("192.0.2.50", forwarded("192.0.2.9"), proxy)).toBe("192.0.2.50");
    expect(clientAddress("::ffff:10.1.2.3", forwarded("192.0.2.9"), proxy)).toBe("192.0.2.9");
  });
  it("returns the right-most address that is not a trusted proxy", () => {
    expect(clientAddress("127.0.0.1", forwarded("1.1.1.1, 192.0.2.9, 10.0.0.2"), proxy)).toBe(
      "192.0.2.9",
    );
  });
  it("returns the peer for an invalid, empty or missing header", () => {
    for (const value of ["nonsense", "", undefined, "192.0.2.9, nonsense"])
      expect(clientAddress("127.0.0.1", forwarded(value), proxy)).toBe("127.0.0.1");
  });
});

describe("isLoopback", () => {
  it.each([
    ["127.0.0.1", true],
    ["127.1.2.3", true],
    ["localhost", true],
    ["::1", true],
    ["[::1]", true],
    ["::ffff:127.0.0.1", true],
    ["0.0.0.0", false],
    ["::", false],
    ["192.168.1.5", false],
    ["localhost.example.com", false],
  ])("of %s is %s", (host, expected) => expect(isLoopback(host)).toBe(expected));
});
