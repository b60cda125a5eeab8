import { BlockList } from "node:net";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createAddressRules } from "./address-rules.ts";

const check = createAddressRules(false);
const isRejected = (address: string) => check(address) !== undefined;
const numbersIn = (address: string) => address.split(".").map(Number);

/** IANA's special-purpose networks, independent of the library that the code uses. */
const SPECIAL_V4 = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
] as const;

const specialV4 = fc
  .tuple(fc.constantFrom(...SPECIAL_V4), fc.nat(0xffffffff))
  .map(([[network, bits], random]) => {
    const start = numbersIn(network).reduce((sum, part) => sum * 256 + part, 0);
    return dotted(start + (random % 2 ** (32 - bits)));
  });

const dotted = (whole: number) => [24, 16, 8, 0].map((bits) => (whole >>> bits) & 255).join(".");

/** An IPv4 address as two groups of IPv6, XORed with `mask`. Teredo inverts all bits (255). */
const groups = (address: string, mask = 0) => {
  const [a = 0, b = 0, c = 0, d = 0] = numbersIn(address).map((part) => part ^ mask);
  return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
};

describe("the check of an IPv4 address", () => {
  it("rejects every special-purpose address", () => {
    fc.assert(fc.property(specialV4, isRejected), { numRuns: 2_000 });
  });

  it("accepts exactly the addresses of the public internet", () => {
    const special = new BlockList();
    for (const [network, bits] of SPECIAL_V4) special.addSubnet(network, bits);
    // Also rejected: the anycast networks AS112 and AMT, and Azure's metadata service.
    for (const network of ["192.31.196.0", "192.52.193.0", "192.175.48.0"])
      special.addSubnet(network, 24);
    special.addAddress("168.63.129.16");
    fc.assert(
      fc.property(fc.ipV4(), (address) => isRejected(address) === special.check(address)),
      { numRuns: 5_000 },
    );
    expect(["1.1.1.1", "8.8.8.8", "172.32.0.1", "100.128.0.1"].filter(isRejected)).toEqual([]);
  });

  it("rejects all notations other than four decimal parts", () => {
    const notations = ["134744072", "010.8.8.8", "0x8.8.8.8", "8.8", "8.8.8.8 ", "8.8.8.8/0", ""];
    expect(notations.filter((notation) => !isRejected(notation))).toEqual([]);
  });
});

describe("URLs in requests", () => {
  const part = (value: number) =>
    fc.constantFrom(
      String(value),
      `0${value.toString(8)}`,
      `000${value.toString(8)}`,
      `0x${value.toString(16)}`,
      `0X000${value.toString(16).toUpperCase()}`,
      ...(value === 0 ? ["0x"] : []),
    );
  const notation = (address: string) => {
    const [a = 0, b = 0, c = 0, d = 0] = numbersIn(address);
    const tail = c * 256 + d;
    const whole = ((a * 256 + b) * 256 + c) * 256 + d;
    return fc
      .oneof(
        fc.tuple(part(whole)),
        fc.tuple(part(a), part(whole - a * 2 ** 24)),
        fc.tuple(part(a), part(b), part(tail)),
        fc.tuple(part(a), part(b), part(c), part(d)),
      )
      .chain((parts) => fc.constantFrom(parts.join("."), `${parts.join(".")}.`))
      .chain((host) => fc.constantFrom(host, fullWidth(host)));
  };
  const fullWidth = (host: string) =>
    host.replace(/\d/g, (digit) => String.fromCharCode(0xff10 + Number(digit)));

  it("normalize every notation of an IPv4 address", () => {
    const addressAndHost = specialV4.chain((address) =>
      fc.tuple(fc.constant(address), notation(address)),
    );
    fc.assert(
      fc.property(addressAndHost, ([address, host]) => {
        const { hostname } = new URL(`http://${host}/`);
        expect(hostname).toBe(address);
        expect(isRejected(hostname)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    "2130706433",
    "0177.0.0.1",
    "0x7f000001",
    "0x7f.1",
    "127.1",
    "1２7.0.0.1",
    "127。0。0。1",
    "%31%32%37.0.0.1",
  ])("normalize %s to a loopback address", (host) => {
    expect(check(new URL(`http://${host}/`).hostname)).toMatch("a loopback address");
  });
});

describe("the check of an IPv6 address", () => {
  it.each([
    ["::", /unspecified/],
    ["::1", /loopback/],
    ["0:0:0:0:0:0:0:1", /loopback/],
    ["fe80::1", /link-local/],
    ["fe80::1%eth0", /link-local/],
    ["febf::1", /link-local/],
    ["fec0::1", /special/],
    ["fc00::1", /private/],
    ["fdff::1", /private/],
    ["ff02::1", /multicast/],
    ["100::1", /special/],
    ["2001:2::1", /special/],
    ["2001:db8::1", /special/],
    ["3fff::1", /special/],
    ["5f00::1", /special/],
    ["4000::1", /special/],
    ["64:ff9b:1::8.8.8.8", /special/],
    ["::8.8.8.8", /special/],
    ["::ffff:0:8.8.8.8", /special/],
    ["[::1]", /invalid IP address/],
    ["::1]", /invalid IP address/],
    ["x", /invalid IP address/],
  ])("rejects %s", (address, description) => expect(check(address)).toMatch(description));

  it("applies the IPv4 rules to a mapped or NAT64 address", () => {
    for (const prefix of ["::ffff:", "64:ff9b::"]) {
      expect(check(`${prefix}${groups("8.8.8.8")}`)).toBeUndefined();
      expect(check(`${prefix}8.8.8.8`)).toBeUndefined();
      expect(check(`${prefix}127.0.0.1`)).toMatch("a loopback address");
      expect(check(`${prefix}${groups("169.254.169.254")}`)).toMatch("link-local");
    }
  });

  it("rejects every notation that embeds a special-purpose IPv4 address", () => {
    const wrapped = specialV4.chain((address) =>
      fc.constantFrom(
        `::ffff:${address}`,
        `::ffff:${groups(address)}`,
        `0:0:0:0:0:ffff:${groups(address)}`,
        `::${groups(address)}`,
        `64:ff9b::${groups(address)}`,
        `64:ff9b:1::${groups(address)}`,
        `2002:${groups(address)}::1`,
        `2001:0:${groups(address)}::1`,
        `2001:0:808:808:0:0:${groups(address, 255)}`,
        `::ffff:0:${groups(address)}`,
      ),
    );
    fc.assert(fc.property(wrapped, isRejected), { numRuns: 2_000 });
  });

  it("rejects addresses outside the public internet, except mapped and NAT64 ones", () => {
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        const { hostname } = new URL(`http://[${address}]/`);
        const isPublic = /^\[[23][0-9a-f]{3}:/.test(hostname);
        const embedsV4 = /^\[(::ffff|64:ff9b:):[^:]+(:[^:]+)?\]$/.test(hostname);
        return isRejected(address) || isPublic || embedsV4;
      }),
      { numRuns: 5_000 },
    );
    const accepted = ["2606:4700:4700::1111", "2a00:1450:4001::1", "2620:1ec::1"];
    expect(accepted.filter(isRejected)).toEqual([]);
  });
});

it("the check does not throw for any text", () => {
  const texts = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(..."0123abf:.%[]/@") }));
  fc.assert(
    fc.property(texts, (text) => ["string", "undefined"].includes(typeof check(text))),
    { numRuns: 5_000 },
  );
});

describe("the setting allowPrivate", () => {
  const rejectedOf = (allow: Parameters<typeof createAddressRules>[0], addresses: string[]) => {
    const checkAllowed = createAddressRules(allow);
    return addresses.filter((address) => checkAllowed(address) !== undefined);
  };
  const metadata = [
    "169.254.169.254",
    "::ffff:169.254.169.254",
    "fe80::a9fe:a9fe",
    "100.100.100.200",
    `64:ff9b::${groups("100.100.100.200")}`,
    "168.63.129.16",
    "fd00:ec2::254",
    "fd20:ce::254",
  ];

  it("allows all private networks if it is true, but no metadata services", () => {
    const accepted = ["127.0.0.1", "::1", "10.1.2.3", "192.168.1.1", "fd12::1", "100.64.0.1"];
    expect(rejectedOf(true, accepted)).toEqual([]);
    expect(rejectedOf(true, ["::ffff:10.0.0.1", "64:ff9b::a00:1"])).toEqual([]);
    const rejected = [...metadata, "0.0.0.0", "::", "224.0.0.1", "255.255.255.255", "192.0.2.1"];
    expect(rejectedOf(true, rejected)).toEqual(rejected);
  });

  it("allows only the private addresses and networks in a list", () => {
    const list = ["10.0.0.0/8", "127.0.0.1", "fd12::/16", "169.254.169.254"];
    const accepted = ["10.255.0.1", "127.0.0.1", "fd12::5", "169.254.169.254", "8.8.8.8"];
    expect(rejectedOf(list, accepted)).toEqual([]);
    expect(rejectedOf(list, ["::ffff:10.0.0.1", `64:ff9b::${groups("10.0.0.1")}`])).toEqual([]);
    const rejected = ["127.0.0.2", "::1", "192.168.0.1", "fd13::1", "169.254.169.253"];
    expect(rejectedOf(list, rejected)).toEqual(rejected);
    expect(rejectedOf([], ["127.0.0.1", ...metadata])).toHaveLength(metadata.length + 1);
  });
});
