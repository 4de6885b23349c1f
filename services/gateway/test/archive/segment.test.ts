import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { newUuid } from '@runledger/contracts/ids';
import { casesOf } from '@runledger/testing/random/cases';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  inOrderOfSegment,
  packSegment,
  mayHaveRun,
  runFilter,
  type PackedSegment,
} from '../../src/archive/pack-segment.ts';
import {
  readIndex,
  readRunLines,
  readWholeSegment,
  type KnownSegment,
  type ReadSpan,
} from '../../src/archive/read-segment.ts';
import {
  DamagedSegment,
  leafOfLine,
  lineOf,
  messageOfLine,
  runIdOf,
  tombstoneOf,
  withoutContent,
  type SegmentLine,
} from '../../src/archive/segment-line.ts';

const ORG = newUuid();
const RUNS = Array.from({ length: 6 }, () => newUuid());

const aBody = fc.oneof(
  fc.json().map((text) => new Uint8Array(Buffer.from(text))),
  fc.string({ unit: 'binary', maxLength: 50 }).map((text) => new Uint8Array(Buffer.from(text))),
  fc.uint8Array({ maxLength: 50 }),
);

/** Messages of several runs in the order of a log, also such as no service writes. */
const messages = fc
  .array(
    fc.record({
      run: fc.constantFrom(...RUNS),
      data: aBody,
      fence: fc.option(fc.string({ maxLength: 20 })),
      expectedSequence: fc.option(fc.nat()),
      repeated: fc.integer({ min: 0, max: 3_000 }),
    }),
    { minLength: 1, maxLength: 40 },
  )
  .map((all) =>
    all.map(({ run, data, fence, expectedSequence, repeated }, at): StoredMessage => ({
      subject: `runs.${ORG}.${run}.life.started.executor.1.a${at}`,
      sequence: at + 1,
      time: new Date(Date.UTC(2026, 0, 1) + at).toISOString(),
      fence,
      expectedSequence,
      body: undefined,
      // Some are large, so that a segment has several frames.
      data: Buffer.concat([data, Buffer.alloc(repeated * 10, 'x')]),
    })),
  );

const pack = (all: readonly StoredMessage[]): Promise<PackedSegment> =>
  packSegment(inOrderOfSegment(all.map(lineOf)));

const known = (packed: PackedSegment): KnownSegment => ({ ...packed, bytes: packed.bytes.length });

const from =
  (bytes: Buffer): ReadSpan =>
  async ({ offset, bytes: length }) =>
    bytes.subarray(offset, offset + length);

const asStored = (message: Partial<StoredMessage> | undefined) =>
  message && {
    ...message,
    data: Buffer.from(message.data ?? []).toString('hex'),
    body: message.data ? undefined : message.body,
  };

describe('a segment', () => {
  it('gives back the messages of each run exactly, and says that it may have it', async () => {
    await fc.assert(
      fc.asyncProperty(messages, async (all) => {
        const packed = await pack(all);
        const read = from(packed.bytes);
        const frames = await readIndex(known(packed), read);
        for (const run of RUNS) {
          const lines = await readRunLines(frames, read, run);
          const own = all.filter(({ subject }) => subject.includes(run));
          expect(lines.map((line) => asStored(messageOfLine(line)))).toEqual(own.map(asStored));
          const mayHave = mayHaveRun(Buffer.from(packed.run_filter, 'base64'), run);
          expect(mayHave || own.length === 0).toBe(true);
        }
        expect(await readWholeSegment(known(packed), read)).toHaveLength(all.length);
      }),
      { numRuns: casesOf(10) },
    );
  });

  it('is found damaged when any byte of it is another one', async () => {
    await fc.assert(
      fc.asyncProperty(messages, fc.nat(), fc.integer({ min: 1, max: 255 }), async (all, place, flip) => {
        const packed = await pack(all);
        const changed = Buffer.from(packed.bytes);
        const at = place % changed.length;
        changed.writeUInt8(changed.readUInt8(at) ^ flip, at);
        await expect(readWholeSegment(known(packed), from(changed))).rejects.toThrow(DamagedSegment);
      }),
      { numRuns: casesOf(10) },
    );
  });

  it('is found damaged when it is cut off, or another one', async () => {
    const [one, other] = await Promise.all(['one', 'other'].map((text) => pack([aMessage(text)])));
    if (!one || !other) throw new Error('it was packed');
    await expect(readWholeSegment(known(one), from(one.bytes.subarray(0, -1)))).rejects.toThrow(
      DamagedSegment,
    );
    await expect(readWholeSegment(known(one), from(other.bytes))).rejects.toThrow(DamagedSegment);
    const lying = { ...known(one), root: other.root };
    await expect(readWholeSegment(lying, from(one.bytes))).rejects.toThrow('Merkle root');
  });

  it('keeps its root when messages are erased or lose their content, and does not say it any more', async () => {
    await fc.assert(
      fc.asyncProperty(
        messages,
        fc.func(fc.constantFrom('erased', 'withheld', 'kept')),
        async (all, fate) => {
          const lines = inOrderOfSegment(all.map(lineOf));
          const change = (line: SegmentLine): SegmentLine => {
            const what = fate(line.sequence);
            if (what === 'kept') return line;
            return what === 'erased' ? tombstoneOf(line) : withoutContent(line, { left: 'this' });
          };
          const [before, after] = [await packSegment(lines), await packSegment(lines.map(change))];
          expect(after.root).toBe(before.root);
          const read = await readWholeSegment(known(after), from(after.bytes));
          for (const [at, line] of read.entries()) {
            const whole = lines[at] ?? line;
            const left = {
              erased: undefined,
              withheld: { ...messageOfLine(whole), body: { left: 'this' }, data: undefined },
              kept: messageOfLine(whole),
            }[fate(line.sequence)];
            expect(asStored(messageOfLine(line))).toEqual(asStored(left));
            expect(leafOfLine(line)).toBe(leafOfLine(whole));
          }
        },
      ),
      { numRuns: casesOf(10) },
    );
  });
});

const aMessage = (text: string): StoredMessage => ({
  subject: `runs.${ORG}.${RUNS[0]}.life.queued.gateway.0.none`,
  sequence: 1,
  time: '2026-01-01T00:00:00.000Z',
  fence: null,
  expectedSequence: null,
  body: undefined,
  data: Buffer.from(text),
});

describe('the order of a segment', () => {
  it('has the messages of a run together', () => {
    fc.assert(
      fc.property(messages, (all) => {
        const ids = inOrderOfSegment(all.map(lineOf)).map(runIdOf);
        expect(ids).toEqual(ids.toSorted());
      }),
    );
  });
});

describe('a filter of runs', () => {
  it('denies no run that it has, and almost each that it has not', () => {
    const ids = new Set(Array.from({ length: 2_000 }, () => newUuid()));
    const filter = Buffer.from(runFilter(ids), 'base64');
    expect([...ids].every((id) => mayHaveRun(filter, id))).toBe(true);
    const others = Array.from({ length: 10_000 }, () => newUuid());
    expect(others.filter((id) => mayHaveRun(filter, id)).length).toBeLessThan(100);
    expect(mayHaveRun(Buffer.from(runFilter(new Set()), 'base64'), newUuid())).toBe(false);
  });
});
