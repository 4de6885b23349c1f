import { parseJson } from '@runledger/contracts/json';
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
  parseJson(gunzipSync(content, { maxOutputLength: MAX_JSON_BYTES }).toString());

/** Yields each frame. @throws when one is damaged, and what reading the bytes throws */
export async function* framesIn(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Frame> {
  let unread: Buffer = Buffer.alloc(0);
  let pieces: Uint8Array[] = [];
  /** Of what is unread, with the pieces. */
  let length = 0;
  let needed = PREFIX_BYTES;
  for await (const piece of bytes) {
    pieces.push(piece);
    length += piece.length;
    if (length < needed) continue;
    unread = Buffer.concat([unread, ...pieces]);
    pieces = [];
    for (;;) {
      needed = unread.length < PREFIX_BYTES ? PREFIX_BYTES : PREFIX_BYTES + contentBytes(unread);
      if (unread.length < needed) break;
      yield frameOf(unread.subarray(0, needed));
      unread = unread.subarray(needed);
    }
    length = unread.length;
  }
  if (length > 0) throw new Error('it is cut off');
}

const contentBytes = (prefix: Buffer): number => {
  const bytes = prefix.readUInt32LE(1);
  if (bytes > MAX_CONTENT_BYTES)
    throw new Error(`a part has ${bytes} bytes, and at most ${MAX_CONTENT_BYTES} are possible`);
  return bytes;
};

const frameOf = (bytes: Buffer): Frame => {
  const content = bytes.subarray(PREFIX_BYTES);
  const checksum = crc32(content, crc32(bytes.subarray(0, CHECKED_BYTES)));
  if (checksum !== bytes.readUInt32LE(CHECKED_BYTES)) throw new Error('a part is damaged');
  return { type: bytes.readUInt8(0), content };
};
