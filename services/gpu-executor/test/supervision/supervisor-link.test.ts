import { anyCharacter } from '@runledger/contracts/test/fixtures/any-character';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  encodeMessage,
  messageReader,
  parseReport,
  parseStart,
  type MessageKind,
} from '../../src/supervision/supervisor-link.ts';

const message = fc.record({
  kind: fc.constantFrom<MessageKind>(
    'start',
    'input',
    'terminate',
    'group',
    'stdout',
    'stderr',
    'ended',
    'idle',
  ),
  content: fc.string({ unit: anyCharacter }),
});

/** The bytes in pieces of these sizes, over and over. */
const cut = (bytes: Buffer, sizes: readonly number[]): Buffer[] => {
  const pieces: Buffer[] = [];
  for (let from = 0; from < bytes.length;) {
    const to = from + (sizes[pieces.length % sizes.length] ?? 1);
    pieces.push(bytes.subarray(from, to));
    from = to;
  }
  return pieces;
};

describe('the messages between executor and supervisor', () => {
  it('arrive whole and in order, however the pipe cuts them', () => {
    fc.assert(
      fc.property(
        fc.array(message),
        fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 5 }),
        (messages, sizes) => {
          const bytes = Buffer.concat(messages.map(({ kind, content }) => encodeMessage(kind, content)));
          const received: { kind: MessageKind; content: string }[] = [];
          const read = messageReader((kind, content) => received.push({ kind, content: content.toString() }));
          for (const piece of cut(bytes, sizes)) read(piece);
          expect(received).toEqual(
            messages.map(({ kind, content }) => ({ kind, content: Buffer.from(content).toString() })),
          );
        },
      ),
    );
  });

  it.each([
    ['an unknown kind', [99, 0, 0, 0, 0]],
    ['a length that no message has', [0, 255, 255, 255, 255]],
  ])('are refused with %s', (_, bytes) => {
    const read = messageReader(() => undefined);
    expect(() => read(Buffer.from(bytes))).toThrow('something else');
  });

  it('say how a program ended', () => {
    const report = { kind: 'exited', code: null, signal: 'SIGKILL', strays: { killed: [7], survivors: [] } };
    expect(parseReport(JSON.stringify(report))).toEqual(report);
    expect(parseReport('{"kind": "exited", "code": 0')).toBe(null);
    expect(parseReport('{"kind": "exited", "code": 0, "signal": null}')).toBe(null);
  });

  it('refuse to start what is no program', () => {
    expect(() => parseStart('{"command": "/bin/true", "args": [1]}')).toThrow('this is a bug');
  });
});
