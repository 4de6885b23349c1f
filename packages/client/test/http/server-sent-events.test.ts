import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RunledgerError } from '../../src/errors.ts';
import { EventParser } from '../../src/http/server-sent-events.ts';

const eventsIn = (...pieces: readonly string[]) => {
  const parser = new EventParser();
  return pieces.flatMap((piece) => parser.feed(piece));
};

describe('events in a stream', () => {
  it('have a name, the last id, and their lines of data', () => {
    expect(eventsIn('id: 7\nevent: fact\ndata: {"a":\ndata: 1}\n\n: waiting\n\ndata:x\n\n')).toEqual([
      { event: 'fact', id: '7', data: '{"a":\n1}' },
      { event: 'message', id: '7', data: 'x' },
    ]);
  });

  it('include comments for those who ask for them, in their order', () => {
    const parser = new EventParser({ comments: true });
    const events = ['retry: 9\n: hello\n\nid: 1\nevent: fact\nda', 'ta: {}\n\n: wait', 'ing\n\n'].flatMap(
      (piece) => parser.feed(piece),
    );
    expect(events).toEqual([
      { event: '', id: undefined, data: 'hello' },
      { event: 'fact', id: '1', data: '{}' },
      { event: '', id: '1', data: 'waiting' },
    ]);
  });

  it('say when to connect again', () => {
    const parser = new EventParser();
    parser.feed('retry: 1500\n: soon\n\n');
    expect(parser.retryMs).toBe(1_500);
  });

  it('are refused when they are too long', () => {
    const line = `data: ${'x'.repeat(1024 * 1024)}\n`;
    expect(() => eventsIn(...Array<string>(5).fill(line))).toThrow(RunledgerError);
    expect(() => eventsIn(...Array<string>(5).fill('x'.repeat(1024 * 1024)))).toThrow(RunledgerError);
  });

  it('are the same wherever the pieces are divided, with each end of a line', () => {
    const text = fc.array(fc.constantFrom('id: 1', 'event: fact', 'data: a: b', 'data', ': c', '', 'é: x'), {
      maxLength: 12,
    });
    fc.assert(
      fc.property(text, fc.constantFrom('\n', '\r\n', '\r'), fc.array(fc.nat(80)), (lines, end, cuts) => {
        const whole = `${lines.join(end)}${end}${end}`;
        const at = [0, ...cuts.map((cut) => Math.min(cut, whole.length)), whole.length].toSorted(
          (a, b) => a - b,
        );
        const pieces = at.slice(1).map((to, index) => whole.slice(at[index], to));
        expect(eventsIn(...pieces)).toEqual(eventsIn(whole));
        expect(eventsIn(whole)).toEqual(eventsIn(whole.replaceAll(end, '\n')));
      }),
    );
  });
});
