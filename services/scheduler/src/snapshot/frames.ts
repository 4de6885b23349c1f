import { parsePlainJson } from '@runledger/contracts/json';
import { crc32, gunzipSync, gzipSync } from 'node:zlib';

/** What a frame of a snapshot holds. */
export const FRAME = { header: 1, requests: 2, rows: 3, runs: 4, end: 5 } as const;
type FrameType = (typeof FRAME)[keyof typeof FRAME];

export interface Frame {
  readonly type: number;
  readonly content: Buffer;
}

/** Its type, the length of its content and the checksum of both with the content. */
const PREFIX_BYTES = 9;
const CHECKED_BYTES = 5;
const MAX_CONTENT_BYTES = 16 * 1024 * 1024;
const MAX_JSON_BYTES = 64 * 1024 * 1024;

export const frame = (type: FrameType, content: Uint8Array): Buffer => {
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt8(type, 0);
  prefix.writeUInt32LE(content.length, 1);
  prefix.writeUInt32LE(crc32(content, crc32(prefix.subarray(0, CHECKED_BYTES))), CHECKED_BYTES);
  return Buffer.concat([prefix, content]);
};

/** Compressed, unlike columns, which hold little but random ids. */
export const jsonFrame = (type: FrameType, value: unknown): Buffer =>
  frame(type, gzipSync(JSON.stringify(value), { level: 1 }));

/** The value of such a frame. @throws when it cannot be decompressed */
export const jsonOf = (content: Uint8Array): unknown =>
  parsePlainJson(gunzipSync(content, { maxOutputLength: MAX_JSON_BYTES }).toString());

/** Yields each frame, with content in a buffer of its own. @throws when one is damaged, and what reading the bytes throws */
export async function* framesIn(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Frame> {
  const prefix = Buffer.alloc(PREFIX_BYTES);
  /** Undefined until the whole prefix is read. */
  let content: Buffer | undefined;
  /** Of what is being read: the prefix or the content. */
  let length = 0;
  for await (const piece of bytes) {
    for (let from = 0; ;) {
      const target = content ?? prefix;
      const part = piece.subarray(from, from + target.length - length);
      target.set(part, length);
      from += part.length;
      length += part.length;
      if (length < target.length) break;
      length = 0;
      if (content) yield checkedFrame(prefix, content);
      content = content ? undefined : Buffer.allocUnsafeSlow(contentBytes(prefix));
    }
  }
  if (content || length > 0) throw new Error('it is cut off');
}

const contentBytes = (prefix: Buffer): number => {
  const bytes = prefix.readUInt32LE(1);
  if (bytes > MAX_CONTENT_BYTES)
    throw new Error(`a part has ${bytes} bytes, and at most ${MAX_CONTENT_BYTES} are possible`);
  return bytes;
};

const checkedFrame = (prefix: Buffer, content: Buffer): Frame => {
  const checksum = crc32(content, crc32(prefix.subarray(0, CHECKED_BYTES)));
  if (checksum !== prefix.readUInt32LE(CHECKED_BYTES)) throw new Error('a part is damaged');
  return { type: prefix.readUInt8(0), content };
};
