import { hash } from 'node:crypto';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { runOfSubject } from '@runledger/contracts/events/subjects';
import { leafOf, type Hash } from '@runledger/event-log/read/merkle';
import { parseJson } from '@runledger/event-log/read/stored-message';
import { Type, type Static } from 'typebox';
import { hashOf } from '@runledger/event-log/append/previous-hash';

const Nullable = <Schema extends Type.TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);
const Sha256 = Type.String({ pattern: '^[A-Za-z0-9_-]{43}$' });

/**
 * A message of RUNS, as an archive keeps it. A tombstone has the place of an erased one: its `leaf` and nothing of what it said. One
 * whose content was taken out has both: `withheld` is the hash of the bytes that it had.
 */
const SegmentLine = Type.Object({
  sequence: Type.Integer({ minimum: 1 }),
  subject: Type.String(),
  /** Undefined for a tombstone, as what follows. */
  time: Type.Optional(Type.String()),
  fence: Type.Optional(Nullable(Type.String())),
  expected: Type.Optional(Nullable(Type.Integer({ minimum: 0 }))),
  /** The bytes, when they are text in UTF-8. */
  text: Type.Optional(Type.String()),
  base64: Type.Optional(Type.String()),
  /** Where it cannot be computed any more. */
  leaf: Type.Optional(Sha256),
  withheld: Type.Optional(Sha256),
});
export type SegmentLine = Readonly<Static<typeof SegmentLine>>;

/** A segment that does not say what was written into it. */
export class DamagedSegment extends Error {
  override readonly name = 'DamagedSegment';
  readonly code = 'damaged_segment';
}

const EMPTY = new Uint8Array();
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export const lineOf = ({
  sequence,
  subject,
  time,
  fence,
  expectedSequence,
  data = EMPTY,
}: StoredMessage): SegmentLine => ({
  sequence,
  subject,
  time,
  fence,
  expected: expectedSequence,
  ...contentOf(data),
});

const contentOf = (data: Uint8Array): Pick<SegmentLine, 'text' | 'base64'> => {
  try {
    return { text: utf8.decode(data) };
  } catch {
    return { base64: Buffer.from(data).toString('base64') };
  }
};

export const isTombstone = ({ text, base64 }: SegmentLine): boolean =>
  text === undefined && base64 === undefined;

/** What is left of a message that is erased. */
export const tombstoneOf = (line: SegmentLine): SegmentLine => {
  const { sequence, subject } = line;
  return { sequence, subject, leaf: leafOfLine(line) };
};

/** The same message with another content, in which something is left out. */
export const withoutContent = (line: SegmentLine, body: unknown): SegmentLine => {
  const { base64: _base64, ...rest } = line;
  const sha256 = sha256OfLine(line);
  const withheld = sha256 === undefined ? {} : { withheld: sha256 };
  return { ...rest, text: JSON.stringify(body), leaf: leafOfLine(line), ...withheld };
};

const bytesOf = ({ text, base64 }: SegmentLine): Uint8Array =>
  base64 === undefined ? Buffer.from(text ?? '') : Buffer.from(base64, 'base64');

/** Of the bytes that the log held; undefined for a tombstone. */
const sha256OfLine = (line: SegmentLine): Hash | undefined =>
  isTombstone(line) ? undefined : (line.withheld ?? hash('sha256', bytesOf(line), 'base64url'));

/** @throws {DamagedSegment} */
export const leafOfLine = (line: SegmentLine): Hash => {
  const { sequence, subject, time, fence = null, expected = null, leaf } = line;
  if (leaf !== undefined) return leaf;
  const sha256 = sha256OfLine(line);
  if (time === undefined || sha256 === undefined)
    throw new DamagedSegment(`The tombstone of message ${sequence} has no hash.`);
  return leafOf({ sequence, subject, time, fence, expectedSequence: expected, sha256 });
};

/** The message as the log gave it. Undefined for a tombstone. */
export const messageOfLine = (line: SegmentLine): StoredMessage | undefined => {
  const { sequence, subject, time, fence = null, expected = null } = line;
  if (time === undefined || isTombstone(line)) return undefined;
  const data = bytesOf(line);
  // What was taken out is not the message: nobody may take its hash for that of the stored one.
  const whole = line.withheld === undefined ? { data } : {};
  return { subject, sequence, time, fence, expectedSequence: expected, body: parseJson(data), ...whole };
};

const schema = compiledSchema(SegmentLine);

/** @throws {DamagedSegment} */
export const parseLine = (text: string): SegmentLine => {
  const value = parseJson(Buffer.from(text));
  if (!schema.Check(value)) throw new DamagedSegment('A line of a segment is none.');
  return value;
};

/** By which lines are sorted, before their sequences. */
export const runIdOf = ({ subject }: Pick<SegmentLine, 'subject'>): string =>
  runOfSubject(subject)?.run_id ?? '';

/** Of a message as the log has it. */
export const leafOfMessage = (message: StoredMessage): Hash =>
  leafOf({ ...message, sha256: hashOf(message.data ?? new Uint8Array()) });
