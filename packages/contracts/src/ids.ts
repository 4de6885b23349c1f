import { stringify, v7 as uuidv7 } from 'uuid';

declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

/** UUID, lower case. */
export type RunId = Branded<'RunId'>;
/** UUID, lower case. The tenant; it comes from the caller's API key, never from the request. */
export type OrgId = Branded<'OrgId'>;
/**
 * `<name>.<boot id>`: a restarted executor is a new executor. Each part is one subject token, so that the broker can
 * permit a name its own subjects. At most 64 characters: `A-Z a-z 0-9 _ -` and the dot.
 */
export type ExecutorId = Branded<'ExecutorId'>;

/** Without anchors, for schemas. Each digit is written out: an engine takes twice as long for `{8}`. */
export const UUID_PATTERN = [8, 4, 4, 4, 12].map((digits) => '[0-9a-f]'.repeat(digits)).join('-');
const UUID = new RegExp(`^${UUID_PATTERN}$`);
/** Without anchors, for the end of a text. */
export const EXECUTOR_ID_AT_END = String.raw`(?=.{1,64}$)[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+`;
/** Of an executor id, for schemas. */
export const EXECUTOR_ID_PATTERN = `^${EXECUTOR_ID_AT_END}$`;
/** Of an executor's name, for schemas. */
export const EXECUTOR_NAME_PATTERN = '^[A-Za-z0-9_-]{1,64}$';
const EXECUTOR_ID = new RegExp(EXECUTOR_ID_PATTERN);
const LONGEST_NAME = 48;

export const isUuid = (text: string): boolean => UUID.test(text);
export const isRunId = (text: string): text is RunId => UUID.test(text);
export const isOrgId = (text: string): text is OrgId => UUID.test(text);
export const isExecutorId = (text: string): text is ExecutorId => EXECUTOR_ID.test(text);

/** @throws TypeError when the text is not a lower-case UUID. */
export const runId = (text: string): RunId => {
  if (!isRunId(text)) throw new TypeError(`"${text}" is not a run id: a lower-case UUID is expected`);
  return text;
};

/** @throws TypeError when the text is not a lower-case UUID. */
export const orgId = (text: string): OrgId => {
  if (!isOrgId(text))
    throw new TypeError(`"${text}" is not an organisation id: a lower-case UUID is expected`);
  return text;
};

/** @throws TypeError when the text cannot stand in a subject. */
export const executorId = (text: string): ExecutorId => {
  if (!isExecutorId(text)) {
    throw new TypeError(
      `"${text}" is not an executor id: a name and a boot id with a point between, together at most 64 letters, digits, "_" or "-"`,
    );
  }
  return text;
};

/** The part of the id that stays the same over restarts. */
export const executorName = (id: ExecutorId): string => id.slice(0, id.indexOf('.'));

/** A name for executor ids and subjects: other characters become "-", and at most 48 characters remain. */
export const executorToken = (name: string): string => {
  const token = name
    .replaceAll(/[^A-Za-z0-9_-]+/g, '-')
    .replace(/^-+/, '')
    .slice(0, LONGEST_NAME)
    // Last, because the cut may leave one at the end. The token of a token is the same token.
    .replace(/-+$/, '');
  return token === '' || token === 'none' ? 'executor' : token;
};

const RANDOM_BYTES = 16;
/** Random bytes of many ids: to ask the system for each takes longer than everything else about an id. */
const drawn = new Uint8Array(256 * RANDOM_BYTES);
const drawnNumbers = new DataView(drawn.buffer);
let next = drawn.length;

/** Where the next random bytes begin in those that are drawn. */
const drawRandom = (): number => {
  if (next === drawn.length) {
    crypto.getRandomValues(drawn);
    next = 0;
  }
  const at = next;
  next += RANDOM_BYTES;
  return at;
};

let latest = { msecs: 0, seq: 0 };

/** A new UUIDv7: sortable by creation time, and of this process in the order of creation. */
export const newUuid = (): string => {
  const at = drawRandom();
  const random = drawn.subarray(at, at + RANDOM_BYTES);
  const msecs = Date.now();
  latest =
    msecs > latest.msecs
      ? { msecs, seq: drawnNumbers.getUint32(at + 6) >>> 1 }
      : { msecs: latest.msecs, seq: latest.seq + 1 };
  return uuidv7({ random, ...latest });
};

/** RFC 9562, section 5.8: a UUID with 122 bits of any content, here the first ones of a hash. */
export const uuid8 = (hash: Uint8Array): string => {
  const bytes = Uint8Array.from(hash.subarray(0, 16));
  bytes[6] = (Number(bytes[6]) & 0x0f) | 0x80;
  bytes[8] = (Number(bytes[8]) & 0x3f) | 0x80;
  return stringify(bytes);
};
