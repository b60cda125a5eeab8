// @ts-nocheck: AssemblyScript. `npm run build:scan -w signalbox` compiles it into scan-module.ts.
/**
 * Checks a JSON text, and writes down the part of it that somebody wants to read.
 *
 * The verdict is that of decode.ts: strict UTF-8, no deeper than MAX_DEPTH, then RFC 8259 as
 * JSON.parse takes it, then an object. What is kept is every member of the outermost object, and
 * within those only members whose name is in the table; the elements of a kept array all stay. A
 * scalar and an object of the same name thus share their fate, so that of members with the same
 * name the last one wins in the pruned text as it does in the whole.
 *
 * The input is followed by a block of zeros. Zero is allowed nowhere in a JSON text, so every loop
 * ends there and none has to ask where the input ends. Positions are addresses; the position 0 says that
 * the text is bad, and `failedAt` and `problem` say how.
 */

const MAX_DEPTH: i32 = 128;
/** MAX_SCAN_BYTES of scan.ts. */
const MAX_LENGTH: i32 = 1024 * 1024;

// The memory: hash table, names, input, output, with room behind each for what is read or written
// in blocks.
const SLOTS: u32 = 1024;
const NAMES: usize = 4 * SLOTS;
const INPUT: usize = 0x10000;
const OUTPUT: usize = INPUT + MAX_LENGTH + 0x10000;

const UTF8: i32 = -1;
const INVALID: i32 = -2;
const NOT_AN_OBJECT: i32 = -3;
const TOO_DEEP: i32 = -4;
/** Of the table of names. */
const FULL: i32 = -5;

const QUOTE: u32 = 0x22;
const COMMA: u32 = 0x2c;
const COLON: u32 = 0x3a;
const BACKSLASH: u32 = 0x5c;
const OPEN_ARRAY: u32 = 0x5b;
const CLOSE_ARRAY: u32 = 0x5d;
const OPEN_OBJECT: u32 = 0x7b;
const CLOSE_OBJECT: u32 = 0x7d;

let out: usize = OUTPUT;
let failedAt: usize = 0;
let problem: i32 = 0;
/** Where the last escape was seen: a name holds one if this lies behind its start. */
let lastEscape: usize = 0;
let names: usize = NAMES;
let count: u32 = 0;

export function input(): usize {
  return INPUT;
}

export function output(): usize {
  return OUTPUT;
}

/** Where the last text that was refused went wrong, from the start of the input. */
export function badAt(): usize {
  return failedAt - INPUT;
}

/** Adds the name that stands in the input. */
export function addName(length: i32): i32 {
  if (names + length + 32 > INPUT) return FULL;
  v128.store(INPUT + length, i8x16.splat(0));
  if (isWanted(INPUT, length)) return 0;
  if (count === SLOTS / 2) return FULL;
  let slot = slotOf(INPUT, length);
  while (load<u32>(slot)) slot = nextSlot(slot);
  store<u32>(slot, <u32>names);
  store<u32>(names, length);
  memory.copy(names + 4, INPUT, length);
  names += length + 4;
  count += 1;
  return 0;
}

/** The length of the output, or what is wrong with the text. */
export function scan(length: i32): i32 {
  const end = INPUT + length;
  v128.store(end, i8x16.splat(0));
  problem = INVALID;
  out = OUTPUT;
  lastEscape = 0;

  if (!isUtf8(end)) {
    failedAt = findBadUtf8(end);
    return UTF8;
  }

  // A byte order mark is no part of the text for TextDecoder either.
  let start = INPUT;
  if ((load<u32>(INPUT) & 0xffffff) === 0xbfbbef) start += 3;
  const first = skipSpace(start);
  const isObject = load<u8>(first) === OPEN_OBJECT;
  let at: usize;
  if (isObject) {
    put(OPEN_OBJECT);
    at = pruneObject(first + 1, 1);
  } else at = skipValue(first, 0);
  if (at) {
    at = skipSpace(at);
    if (at !== end) at = fail(at);
  }
  if (!at) {
    // decode.ts asks for the depth first, and asks it of texts that are not valid as well.
    if (problem === INVALID) checkDepth(start, end);
    return problem;
  }
  if (!isObject) {
    failedAt = first;
    return NOT_AN_OBJECT;
  }
  return <i32>(out - 1 - OUTPUT); // without the last comma
}

function fail(at: usize): usize {
  failedAt = at;
  return 0;
}

function failTooDeep(at: usize): usize {
  problem = TOO_DEEP;
  return fail(at);
}

// Keeping --------------------------------------------------------------------------------------

/** From behind the opening brace, which has been written, to behind the closing one. */
function pruneObject(start: usize, depth: i32): usize {
  let at = skipSpace(start);
  if (load<u8>(at) === CLOSE_OBJECT) {
    close(CLOSE_OBJECT);
    return at + 1;
  }
  while (true) {
    const name = at;
    if (load<u8>(name) !== QUOTE) return fail(name);
    at = skipString(name + 1);
    if (!at) return 0;
    const wanted = depth === 1 || isWanted(name + 1, <i32>(at - name - 2)) || lastEscape > name;
    at = skipSpace(at);
    if (load<u8>(at) !== COLON) return fail(at);
    at = skipSpace(at + 1);
    at = wanted ? pruneValue(name, at, depth) : skipValue(at, depth);
    if (!at) return 0;
    at = skipSpace(at);
    const next = load<u8>(at);
    if (next === CLOSE_OBJECT) {
      close(CLOSE_OBJECT);
      return at + 1;
    }
    if (next !== COMMA) return fail(at);
    at = skipSpace(at + 1);
  }
}

function pruneArray(start: usize, depth: i32): usize {
  let at = skipSpace(start);
  if (load<u8>(at) === CLOSE_ARRAY) {
    close(CLOSE_ARRAY);
    return at + 1;
  }
  while (true) {
    at = pruneValue(at, at, depth);
    if (!at) return 0;
    at = skipSpace(at);
    const next = load<u8>(at);
    if (next === CLOSE_ARRAY) {
      close(CLOSE_ARRAY);
      return at + 1;
    }
    if (next !== COMMA) return fail(at);
    at = skipSpace(at + 1);
  }
}

/** Writes a value with what stands before it from `from` on: its name, or nothing. */
function pruneValue(from: usize, at: usize, depth: i32): usize {
  const first = load<u8>(at);
  if (first === OPEN_OBJECT) {
    if (depth === MAX_DEPTH) return failTooDeep(at);
    copy(from, at + 1);
    return pruneObject(at + 1, depth + 1);
  }
  if (first === OPEN_ARRAY) {
    if (depth === MAX_DEPTH) return failTooDeep(at);
    copy(from, at + 1);
    return pruneArray(at + 1, depth + 1);
  }
  const end = skipValue(at, depth);
  if (end) {
    copy(from, end);
    put(COMMA);
  }
  return end;
}

function put(byte: u32): void {
  store<u8>(out, <u8>byte);
  out += 1;
}

/** Whatever is written ends with a comma, except for an opening bracket. */
function close(bracket: u32): void {
  if (load<u8>(out - 1) === COMMA) out -= 1;
  store<u16>(out, <u16>(bracket | (COMMA << 8)));
  out += 2;
}

/** In blocks, the last of which writes past the end: the next write covers that. */
function copy(from: usize, to: usize): void {
  let target = out;
  out += to - from;
  for (; from < to; from += 16, target += 16) v128.store(target, v128.load(from));
}

// Names ----------------------------------------------------------------------------------------

function slotOf(name: usize, length: i32): usize {
  const first = length < 4 ? load<u32>(name) & ((1 << (length << 3)) - 1) : load<u32>(name);
  const last = length ? <u32>load<u8>(name + length - 1) : 0;
  const hash = (first ^ (last << 13) ^ ((<u32>length) << 21)) * 0x9e3779b1;
  return (hash >>> 22) << 2;
}

function nextSlot(slot: usize): usize {
  return (slot + 4) & (4 * SLOTS - 1);
}

function isWanted(name: usize, length: i32): bool {
  let slot = slotOf(name, length);
  while (true) {
    const entry = <usize>load<u32>(slot);
    if (!entry) return false;
    if (load<i32>(entry) === length && isSame(entry + 4, name, length)) return true;
    slot = nextSlot(slot);
  }
}

function isSame(a: usize, b: usize, length: i32): bool {
  while (length > 16) {
    if (i8x16.bitmask(i8x16.ne(v128.load(a), v128.load(b)))) return false;
    a += 16;
    b += 16;
    length -= 16;
  }
  const differs = i8x16.bitmask(i8x16.ne(v128.load(a), v128.load(b)));
  return (differs & ((1 << length) - 1)) === 0;
}

// Checking -------------------------------------------------------------------------------------

function skipSpace(at: usize): usize {
  while (true) {
    const byte = load<u8>(at);
    if (byte > 0x20) return at;
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at;
    at += 1;
  }
}

function skipValue(at: usize, depth: i32): usize {
  switch (<u32>load<u8>(at)) {
    case QUOTE:
      return skipString(at + 1);
    case OPEN_OBJECT:
      return depth === MAX_DEPTH ? failTooDeep(at) : skipObject(at + 1, depth + 1);
    case OPEN_ARRAY:
      return depth === MAX_DEPTH ? failTooDeep(at) : skipArray(at + 1, depth + 1);
    case 0x74: // true
      return load<u32>(at) === 0x65757274 ? at + 4 : fail(at);
    case 0x66: // false
      return load<u32>(at + 1) === 0x65736c61 ? at + 5 : fail(at);
    case 0x6e: // null
      return load<u32>(at) === 0x6c6c756e ? at + 4 : fail(at);
    default:
      return skipNumber(at);
  }
}

function skipObject(start: usize, depth: i32): usize {
  let at = skipSpace(start);
  if (load<u8>(at) === CLOSE_OBJECT) return at + 1;
  while (true) {
    if (load<u8>(at) !== QUOTE) return fail(at);
    at = skipString(at + 1);
    if (!at) return 0;
    at = skipSpace(at);
    if (load<u8>(at) !== COLON) return fail(at);
    at = skipValue(skipSpace(at + 1), depth);
    if (!at) return 0;
    at = skipSpace(at);
    const next = load<u8>(at);
    if (next === CLOSE_OBJECT) return at + 1;
    if (next !== COMMA) return fail(at);
    at = skipSpace(at + 1);
  }
}

function skipArray(start: usize, depth: i32): usize {
  let at = skipSpace(start);
  if (load<u8>(at) === CLOSE_ARRAY) return at + 1;
  while (true) {
    at = skipValue(at, depth);
    if (!at) return 0;
    at = skipSpace(at);
    const next = load<u8>(at);
    if (next === CLOSE_ARRAY) return at + 1;
    if (next !== COMMA) return fail(at);
    at = skipSpace(at + 1);
  }
}

/** From behind the opening quote to behind the closing one. */
function skipString(at: usize): usize {
  while (true) {
    const block = v128.load(at);
    const stops = i8x16.bitmask(
      v128.or(
        v128.or(
          i8x16.eq(block, i8x16.splat(<i8>QUOTE)),
          i8x16.eq(block, i8x16.splat(<i8>BACKSLASH)),
        ),
        i8x16.le_u(block, i8x16.splat(0x1f)),
      ),
    );
    if (!stops) {
      at += 16;
      continue;
    }
    at += ctz(stops);
    const byte = load<u8>(at);
    if (byte === QUOTE) return at + 1;
    if (byte !== BACKSLASH) return fail(at);
    lastEscape = at;
    at = skipEscape(at + 1);
    if (!at) return 0;
  }
}

function skipEscape(at: usize): usize {
  switch (<u32>load<u8>(at)) {
    case QUOTE:
    case BACKSLASH:
    case 0x2f: // a slash
    case 0x62: // b
    case 0x66: // f
    case 0x6e: // n
    case 0x72: // r
    case 0x74: // t
      return at + 1;
    case 0x75: // u
      for (let i: usize = 1; i <= 4; i += 1) if (!isHex(load<u8>(at + i))) return fail(at + i);
      return at + 5;
    default:
      return fail(at);
  }
}

function skipNumber(start: usize): usize {
  let at = start;
  if (load<u8>(at) === 0x2d) at += 1; // a minus
  if (load<u8>(at) === 0x30) at += 1;
  else {
    at = skipDigits(at);
    if (!at) return 0;
  }
  if (load<u8>(at) === 0x2e) {
    at = skipDigits(at + 1);
    if (!at) return 0;
  }
  if ((load<u8>(at) | 0x20) === 0x65) {
    at += 1;
    const sign = load<u8>(at);
    if (sign === 0x2b || sign === 0x2d) at += 1;
    at = skipDigits(at);
  }
  return at;
}

/** At least one. */
function skipDigits(at: usize): usize {
  if (!isDigit(load<u8>(at))) return fail(at);
  do at += 1;
  while (isDigit(load<u8>(at)));
  return at;
}

function isDigit(byte: u32): bool {
  return byte - 0x30 <= 9;
}

function isHex(byte: u32): bool {
  return isDigit(byte) || (byte | 0x20) - 0x61 <= 5;
}

/** As decode.ts counts: brackets outside of what looks like a string. */
function checkDepth(at: usize, end: usize): void {
  let depth: i32 = 0;
  let inString = false;
  for (; at < end; at += 1) {
    const byte: u32 = load<u8>(at);
    if (inString) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      depth += 1;
      if (depth > MAX_DEPTH) {
        failTooDeep(at);
        return;
      }
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) depth -= 1;
  }
}

// UTF-8 ----------------------------------------------------------------------------------------

// What two bytes in a row can be guilty of, as in Keiser and Lemire, "Validating UTF-8 In Less Than
// One Instruction Per Byte": the first one's halves and the second one's upper half are each looked
// up in a table, and what all three tables accuse them of, they are guilty of.
//
//   01 a lead, and no continuation       10 half of a surrogate pair
//   02 ASCII, and a continuation         20 two bytes for what fits in one
//   04 three bytes for what fits in two  40 four bytes for what fits in three, or a lead above F4
//   08 above U+10FFFF                    80 two continuations: right where a third byte is due

/** There are zeros before and behind the input: the latter show a character that is cut off. */
function isUtf8(end: usize): bool {
  let errors = i8x16.splat(0);
  let before: i32 = 0;
  let at = INPUT;
  while (at <= end) {
    const block = v128.load(at);
    const half = v128.or(block, v128.load(at, 16));
    if (!(i8x16.bitmask(v128.or(half, v128.or(v128.load(at, 32), v128.load(at, 48)))) | before)) {
      at += 64;
      continue;
    }
    const others = i8x16.bitmask(block);
    if (others | before) errors = v128.or(errors, utf8Errors(at));
    before = others;
    at += 16;
  }
  return !v128.any_true(errors);
}

function utf8Errors(at: usize): v128 {
  const second = v128.load(at);
  const first = v128.load(at - 1);
  const pairs = v128.and(
    v128.and(
      i8x16.swizzle(i32x4(0x02020202, 0x02020202, 0x80808080, 0x49150121), i8x16.shr_u(first, 4)),
      i8x16.swizzle(
        i32x4(0x8383a3e7, 0xcbcbcb8b, 0xcbcbcbcb, 0xcbcbdbcb),
        v128.and(first, i8x16.splat(0x0f)),
      ),
    ),
    i8x16.swizzle(i32x4(0x01010101, 0x01010101, 0xbabaaee6, 0x01010101), i8x16.shr_u(second, 4)),
  );
  // Where a third or a fourth byte is due, there have to be two continuations, and nowhere else.
  const due = v128.or(
    i8x16.ge_u(v128.load(at - 2), i8x16.splat(<i8>0xe0)),
    i8x16.ge_u(v128.load(at - 3), i8x16.splat(<i8>0xf0)),
  );
  return v128.xor(pairs, v128.and(due, i8x16.splat(<i8>0x80)));
}

/** Where the input stops to be UTF-8. */
function findBadUtf8(end: usize): usize {
  let at = INPUT;
  while (at < end) {
    const length = load<u8>(at) < 0x80 ? <usize>1 : lengthOfCharacter(at);
    if (!length) return at;
    at += length;
  }
  return end;
}

/** The bytes of a character that is not ASCII, or 0. */
function lengthOfCharacter(at: usize): usize {
  const lead: u32 = load<u8>(at);
  const second: u32 = load<u8>(at + 1);
  if (lead < 0xc2 || lead > 0xf4) return 0;
  if (lead < 0xe0) return isBetween(second, 0x80, 0xbf) ? 2 : 0;
  if (!isBetween(load<u8>(at + 2), 0x80, 0xbf)) return 0;
  if (lead < 0xf0)
    // Neither in more bytes than needed, nor half of a surrogate pair.
    return isBetween(second, lead === 0xe0 ? 0xa0 : 0x80, lead === 0xed ? 0x9f : 0xbf) ? 3 : 0;
  if (!isBetween(load<u8>(at + 3), 0x80, 0xbf)) return 0;
  return isBetween(second, lead === 0xf0 ? 0x90 : 0x80, lead === 0xf4 ? 0x8f : 0xbf) ? 4 : 0;
}

function isBetween(byte: u32, low: u32, high: u32): bool {
  return byte >= low && byte <= high;
}
