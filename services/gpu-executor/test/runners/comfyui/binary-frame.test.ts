import { describe, expect, it } from 'vitest';
import { readServerMessage } from '../../../src/runners/comfyui/server-message.decide.ts';

const integer = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const withHead = (type: number, head: string, rest: string): Buffer =>
  Buffer.concat([integer(type), integer(Buffer.byteLength(head)), Buffer.from(head), Buffer.from(rest)]);

describe('a binary message', () => {
  it.each([
    [
      'a preview',
      Buffer.concat([integer(1), integer(1), Buffer.from('JPEG')]),
      { kind: 'preview', prompt_id: null },
    ],
    [
      'a line of text',
      withHead(3, '12', 'half way ☃'),
      { kind: 'text', prompt_id: null, node: '12', text: 'half way ☃' },
    ],
    [
      'a preview with its prompt',
      withHead(4, '{"prompt_id": "p"}', 'PNG'),
      { kind: 'preview', prompt_id: 'p' },
    ],
    [
      'a type of a later version',
      Buffer.concat([integer(9), integer(0)]),
      { kind: 'other', type: 'binary 9' },
    ],
  ])('is %s', (_, frame, message) => expect(readServerMessage(frame)).toEqual(message));

  it.each([
    ['empty', Buffer.alloc(0)],
    ['without a length', integer(4)],
    ['shorter than it says', Buffer.concat([integer(4), integer(1_000), Buffer.from('{}')])],
    ['without the prompt that it is of', withHead(4, '{}', 'PNG')],
    ['with a head that is no JSON', withHead(4, '{"prompt', 'PNG')],
  ])('is unreadable when it is %s', (_, frame) =>
    expect(readServerMessage(frame)).toEqual({ kind: 'unreadable' }),
  );
});
