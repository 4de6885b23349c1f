import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  compareCopies,
  type ComparedMessage,
  type Comparison,
} from '../../src/migrate/compare-copies.decide.ts';

const NOW = 1_000_000_000;
const HOUR_MS = 3_600_000;

const message = (sequence: number, other: Partial<ComparedMessage> = {}): ComparedMessage => ({
  sequence,
  subject: `s.${sequence}`,
  hash: `hash ${sequence}`,
  endsAtMs: undefined,
  isByBroker: false,
  ...other,
});

async function* iterated(messages: readonly ComparedMessage[]): AsyncGenerator<ComparedMessage> {
  yield* messages;
}

const compared = (
  source: readonly ComparedMessage[],
  target: readonly ComparedMessage[],
  last = 100,
): Promise<Comparison> =>
  compareCopies(iterated(source), iterated(target), { last, now: () => NOW, onBoth: () => undefined });

const three = [message(2), message(5), message(6)];

describe('a stream and its copy', () => {
  it('are equal with the same messages at the same sequences', async () => {
    expect(await compared(three, three)).toEqual({
      messages: 3,
      firstSequence: 2,
      lastSequence: 6,
      ended: 0,
      differences: 0,
      first: undefined,
    });
  });

  it('are equal when both are empty', async () => {
    expect(await compared([], [])).toMatchObject({
      messages: 0,
      firstSequence: 0,
      lastSequence: 0,
      differences: 0,
    });
  });

  it('differ in a message with another content', async () => {
    const other = three.with(1, message(5, { hash: 'other' }));
    const first = { kind: 'other_content', sequence: 5, subject: 's.5' };
    expect(await compared(three, other)).toMatchObject({ differences: 1, first });
  });

  it('differ in a message that one of them lacks', async () => {
    const first = { kind: 'missing', sequence: 5, subject: 's.5', at: 'target' };
    expect(await compared(three, three.toSpliced(1, 1))).toMatchObject({ differences: 1, first });
    expect(await compared(three.toSpliced(1, 1), three)).toMatchObject({ first: { ...first, at: 'source' } });
  });

  it('differ in a message that was written since', async () => {
    const first = { kind: 'written', sequence: 7, subject: 's.7', at: 'source' };
    expect(await compared([...three, message(7)], three, 6)).toMatchObject({ differences: 1, first });
    expect(await compared(three, [...three, message(7)], 6)).toMatchObject({
      first: { ...first, at: 'target' },
    });
  });

  it('may each lose what expires, and nothing that stays for another hour', async () => {
    const ended = three.with(0, message(2, { endsAtMs: NOW - 1 }));
    expect(await compared(ended, ended.slice(1))).toMatchObject({ ended: 1, differences: 0 });
    expect(await compared(ended.slice(1), ended)).toMatchObject({ ended: 1, differences: 0 });
    const later = three.with(0, message(2, { endsAtMs: NOW + HOUR_MS }));
    expect(await compared(later, later.slice(1))).toMatchObject({ ended: 0, differences: 1 });
  });

  it('may each fire a timer, whose message replaces the one under its subject', async () => {
    const timer = message(5, { endsAtMs: NOW });
    const fired = message(7, { subject: 's.2', isByBroker: true });
    expect(await compared([message(2), timer], [fired], 6)).toMatchObject({ ended: 2, differences: 0 });
    expect(await compared([message(2), timer], [timer], 6)).toMatchObject({
      first: { kind: 'missing', sequence: 2, at: 'target' },
    });
  });

  it('are never taken for equal when any message was lost or changed', async () => {
    const sequences = fc.uniqueArray(fc.integer({ min: 1, max: 90 }), { minLength: 1 });
    await fc.assert(
      fc.asyncProperty(sequences, fc.nat(), fc.boolean(), async (given, at, isLost) => {
        const source = given.toSorted((a, b) => a - b).map((sequence) => message(sequence));
        const hit = at % source.length;
        const damaged = isLost
          ? source.toSpliced(hit, 1)
          : source.with(hit, message(source[hit]?.sequence ?? 0, { hash: 'other' }));
        expect(await compared(source, source)).toMatchObject({ messages: source.length, differences: 0 });
        expect(await compared(source, damaged)).toMatchObject({
          differences: 1,
          first: { sequence: source[hit]?.sequence },
        });
      }),
    );
  });
});
