import { anyCharacter } from '@runledger/contracts/test/fixtures/any-character';
import { DELIVERY_ATTEMPT_RESULTS } from '@runledger/contracts/events/webhook-event';
import { casesOf } from '@runledger/testing/random/cases';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { rawReceiver } from './receivers.ts';
import { send, senderTo } from './sending.ts';

const part = fc.oneof(
  fc.constantFrom(
    'HTTP/1.1 200 OK\r\n',
    'HTTP/1.0 500 No\r\n',
    'HTTP/1.1 100 Continue\r\n\r\n',
    '\r\n',
    '\r\n\r\n',
  ),
  fc.constantFrom('content-length: 5\r\n', 'transfer-encoding: chunked\r\n', 'connection: close\r\n'),
  fc.constantFrom(
    'content-length: -1\r\n',
    'keep-alive: timeout=0\r\n',
    'retry-after: never\r\n',
    '5\r\nhello\r\n',
  ),
  fc.constantFrom('0\r\n\r\n', 'hello', 'HTTP/1.1 101 Switch\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n'),
  fc.string({ unit: anyCharacter, maxLength: 64 }),
);
const talk = fc.record({
  parts: fc.array(part, { maxLength: 12 }),
  end: fc.constantFrom('end', 'reset', 'stay'),
});

it('ends with a reason for any response of a receiver, on kept connections too', async () => {
  let answer: { parts: readonly string[]; end: string } = { parts: [], end: 'end' };
  await using receiver = await rawReceiver((socket) => {
    socket.on('data', () => {
      const { parts, end } = answer;
      for (const text of parts) socket.write(text);
      if (end === 'end') socket.end();
      if (end === 'reset') socket.resetAndDestroy();
    });
  });
  await using sender = senderTo(['127.0.0.1'], { withinMs: 100 });
  await fc.assert(
    fc.asyncProperty(talk, async (bytes) => {
      answer = bytes;
      const { reason, status, phases } = await send(sender, receiver.url);
      expect(DELIVERY_ATTEMPT_RESULTS).toContain(reason);
      expect(reason).not.toBe('internal_error');
      expect(status === null).toBe(phases.body === null);
    }),
    { numRuns: casesOf(40) },
  );
});
